//! The tools of one session, the gate before them, and what a person is shown of a call.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use dsh_agent::{Call, Failure, Tool, ToolError, ToolGate, Verdict};

use crate::change::{Change, Files};
use crate::edit::{self, Edit};
use crate::list::List;
use crate::read::Read;
use crate::rules::Decision;
use crate::search::Search;
use crate::shell::{Shell, ShellOptions};
use crate::spec::blocking;
use crate::subject::Subject;
use crate::write::{self, Write};
use crate::{Rules, Workspace};

/// The names of the tools here.
pub const NAMES: [&str; 6] = ["read", "list", "search", "write", "edit", "shell"];

/// The tools of one session, and what the person said about their calls.
#[derive(Clone)]
pub struct Toolbox {
    files: Arc<Files>,
    tools: Vec<Arc<dyn Tool>>,
    /// What the person allowed for as long as this toolbox lives.
    allowed: Arc<Mutex<HashSet<Kept>>>,
}

/// Exactly this, and nothing like it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Kept {
    /// Changes of a file, by write or edit.
    Changes(std::path::PathBuf),
    /// A command line in a folder.
    Command(String, std::path::PathBuf),
    /// A tool, whatever its arguments.
    Tool(String),
}

/// What would happen, as a person is shown it before they decide.
///
/// The texts are the model's, a server's or a file's: whoever shows them makes control characters visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// What it is, such as `shell in /home/me/app`.
    pub title: String,
    /// All of it: the command line, the diff, or the arguments.
    pub body: String,
    /// What an answer for the whole session would hold for, such as `this command`.
    pub kept: &'static str,
}

impl Toolbox {
    /// The tools, in a session's folders and under these rules.
    ///
    /// # Errors
    /// Never: the type is that of reading the schemas that are written down here.
    pub fn new(
        workspace: Workspace,
        rules: Arc<Rules>,
        shell: ShellOptions,
    ) -> Result<Self, serde_json::Error> {
        let files = Arc::new(Files::new(workspace, rules));
        let tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(Read::new(Arc::clone(&files))?),
            Arc::new(List::new(Arc::clone(&files))?),
            Arc::new(Search::new(Arc::clone(&files))?),
            Arc::new(Write::new(Arc::clone(&files))?),
            Arc::new(Edit::new(Arc::clone(&files))?),
            Arc::new(Shell::new(Arc::clone(&files), shell)?),
        ];
        Ok(Self { files, tools, allowed: Arc::default() })
    }

    /// The tools, in the order of [`NAMES`].
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.clone()
    }

    /// The gate that holds every call, also of other tools, to the rules.
    pub fn gate(&self) -> Arc<dyn ToolGate> {
        Arc::new(Gate(self.clone()))
    }

    /// What a call would do. Where it changes a file, the call is held to that: it fails if the file is another by then.
    pub async fn preview(&self, call: &Call) -> Preview {
        let (toolbox, asked) = (self.clone(), call.clone());
        let preview = blocking(move || toolbox.preview_now(&asked)).await;
        // A call that cannot be done is not asked about, so this is a call that could be done a moment ago.
        preview.unwrap_or_else(|error| Preview {
            title: format!("{} will fail", call.name),
            body: error.to_string(),
            kept: "this",
        })
    }

    fn preview_now(&self, call: &Call) -> Result<Preview, ToolError> {
        if let Some(change) = self.change(call).transpose()? {
            self.files.show(&call.id, Some(&change));
            let what = if change.before.is_some() { "change" } else { "create" };
            let title = format!("{what} {}", change.place.real.display());
            return Ok(Preview { title, body: change.diff().text, kept: "changes of this file" });
        }
        Ok(match Subject::of(&self.files.workspace, call)? {
            Subject::Command { line, folder } => Preview {
                title: format!("shell in {}", folder.display()),
                body: line,
                kept: "this command in this folder",
            },
            _ => {
                let body = call.arguments.as_str().to_owned();
                Preview {
                    title: call.name.clone(),
                    body,
                    kept: "this tool, whatever its arguments",
                }
            }
        })
    }

    /// From now on, calls like this one are allowed unless a rule denies them.
    ///
    /// # Errors
    /// When the call cannot be understood; then nothing is remembered.
    pub fn remember(&self, call: &Call) -> Result<(), ToolError> {
        let kept = Kept::of(call, Subject::of(&self.files.workspace, call)?);
        self.allowed.lock().unwrap_or_else(PoisonError::into_inner).insert(kept);
        Ok(())
    }

    fn remembers(&self, call: &Call, subject: &Subject) -> bool {
        let kept = Kept::of(call, subject.clone());
        self.allowed.lock().unwrap_or_else(PoisonError::into_inner).contains(&kept)
    }

    /// What a call would change, where it is one that changes a file.
    fn change(&self, call: &Call) -> Option<Result<Change, ToolError>> {
        match call.name.as_str() {
            "write" => Some(write::plan(&self.files, call)),
            "edit" => Some(edit::plan(&self.files, call)),
            _ => None,
        }
    }

    fn check(&self, call: &Call) -> Verdict {
        let subject = match Subject::of(&self.files.workspace, call) {
            Ok(subject) => subject,
            // The tool would say the same; it does not get the chance to find otherwise.
            Err(error) => return Verdict::Deny(error.to_string()),
        };
        match self.files.rules.decide(&call.name, &subject, call.read_only) {
            Decision::Allow => Verdict::Allow,
            Decision::Deny(reason) => Verdict::Deny(reason),
            Decision::Ask(_) if self.remembers(call, &subject) => Verdict::Allow,
            Decision::Ask(reason) => {
                // What cannot be done is no question: the tool says why.
                if let Some(Err(_)) = self.change(call) {
                    self.files.show(&call.id, None);
                    return Verdict::Allow;
                }
                Verdict::Ask(Some(reason))
            }
        }
    }
}

impl Kept {
    fn of(call: &Call, subject: Subject) -> Self {
        match subject {
            Subject::Path { real, .. } if matches!(call.name.as_str(), "write" | "edit") => {
                Self::Changes(real)
            }
            Subject::Command { line, folder } => Self::Command(line, folder),
            _ => Self::Tool(call.name.clone()),
        }
    }
}

/// Holds calls to the rules, and to what the person allowed meanwhile.
struct Gate(Toolbox);

#[async_trait]
impl ToolGate for Gate {
    async fn check(&self, call: &Call) -> Result<Verdict, Failure> {
        let (toolbox, call) = (self.0.clone(), call.clone());
        let verdict = blocking(move || Ok(toolbox.check(&call))).await;
        verdict.map_err(|error| Failure::new(&error.code, &error.message))
    }
}
