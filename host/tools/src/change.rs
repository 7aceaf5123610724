//! A change of one file: planned, shown to the person, and done.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dsh_agent::{ToolError, ToolOutput};
use dsh_session::Json;

use crate::diff::Diff;
use crate::place::Place;
use crate::stamp::{Seen, Stamp};
use crate::{FileError, Rules, Workspace};

/// Most bytes of a diff that the log keeps beside a result.
const LOGGED: usize = 64 << 10;

/// What the tools of one session share.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) workspace: Workspace,
    pub(crate) rules: Arc<Rules>,
    pub(crate) seen: Seen,
    /// The call that the person was last shown, and the text that its file had; calls that change files are one by one.
    shown: Mutex<Option<(String, Shown)>>,
}

/// What a file was when the person was shown a change of it.
#[derive(Debug)]
enum Shown {
    Text(Option<String>),
    /// They were shown nothing, as it could not be done.
    Nothing,
}

impl Files {
    pub(crate) fn new(workspace: Workspace, rules: Arc<Rules>) -> Self {
        Self { workspace, rules, seen: Seen::default(), shown: Mutex::default() }
    }

    /// Holds the call to what the person is shown now; with none it cannot be done at all.
    pub(crate) fn show(&self, call: &str, change: Option<&Change>) {
        let before = |change: &Change| change.before.as_ref().map(|(text, _)| text.clone());
        let shown = change.map_or(Shown::Nothing, |change| Shown::Text(before(change)));
        *self.shown() = Some((call.to_owned(), shown));
    }

    /// Does a change, if the file is still what the person was shown, where they were shown it.
    pub(crate) fn apply(&self, call: &str, change: &Change) -> Result<ToolOutput, ToolError> {
        let before = change.before.as_ref();
        let shown = self.shown().take_if(|(shown, _)| shown == call);
        let as_shown = shown.is_none_or(|(_, shown)| match shown {
            Shown::Text(text) => text.as_deref() == before.map(|(text, _)| text.as_str()),
            Shown::Nothing => false,
        });
        if !as_shown {
            let (path, since) = (change.place.shown.clone(), "the user was shown this change");
            return Err(FileError::Changed { path, since }.into());
        }
        let stamp = change.place.replace(&change.after, before.map(|(_, stamp)| *stamp))?;
        self.seen.note(&change.place.real, stamp);
        change.output()
    }

    /// Whether the file is as the model saw it, if it did.
    pub(crate) fn unchanged(&self, place: &Place, stamp: Stamp) -> Result<bool, FileError> {
        match self.seen.of(&place.real) {
            None => Ok(false),
            Some(seen) if seen == stamp => Ok(true),
            Some(_) => Err(FileError::Changed { path: place.shown.clone(), since: "it was read" }),
        }
    }

    fn shown(&self) -> MutexGuard<'_, Option<(String, Shown)>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What would become of a file.
pub(crate) struct Change {
    pub(crate) place: Place,
    /// None where it is a new file.
    pub(crate) before: Option<(String, Stamp)>,
    pub(crate) after: String,
}

impl Change {
    pub(crate) fn diff(&self) -> Diff {
        Diff::of(
            &self.place.shown,
            self.before.as_ref().map(|(text, _)| text.as_str()),
            &self.after,
        )
    }

    fn output(&self) -> Result<ToolOutput, ToolError> {
        let path = &self.place.shown;
        let diff = self.diff();
        let Diff { added, removed, .. } = diff;
        let said = match &self.before {
            None => format!("{path} is new: {}", counted(added, "line")),
            Some(_) if diff.text.is_empty() => {
                format!("{path} stays as it was: the text is the same")
            }
            Some(_) => {
                format!("{path} is changed: {} added, {} removed", counted(added, "line"), removed)
            }
        };
        let cut = diff.text.len() > LOGGED;
        let text = diff.text.get(..diff.text.floor_char_boundary(LOGGED)).unwrap_or_default();
        let meta = serde_json::json!({
            "path": path, "added": added, "removed": removed, "diff": text, "cut": cut
        });
        let meta = Json::of(&meta).map_err(|error| ToolError::arguments(&error.to_string()))?;
        Ok(ToolOutput { meta: Some(meta), ..ToolOutput::text(&said)? })
    }
}

/// `1 line`, `2 lines`.
pub(crate) fn counted(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}
