//! `edit`: one exact text of a file for another.

use std::sync::Arc;

use async_trait::async_trait;
use dsh_agent::{Call, Cancel, Tool, ToolError, ToolOutput, ToolSpec};
use serde::Deserialize;

use crate::FileError;
use crate::change::{Change, Files};
use crate::diff::all_crlf;
use crate::place::MOST;
use crate::spec::{arguments, blocking, spec};

/// Most places that an error names.
const NAMED: usize = 8;

const DESCRIPTION: &str = "Replace an exact text in a file by another. \
old_string must occur exactly once, character by character and with its indentation, unless replace_all is set. \
In a file whose lines all end in CRLF, a line break in old_string and new_string means CRLF.";

const PARAMETERS: &str = r#"{
  "type": "object",
  "properties": {
    "file_path": {"type": "string", "description": "Path of the file, relative to the working directory or absolute."},
    "old_string": {"type": "string", "description": "The exact text to replace, without line numbers."},
    "new_string": {"type": "string", "description": "What stands there instead; empty removes the text."},
    "replace_all": {"type": "boolean", "description": "Replace every occurrence. Default: false."}
  },
  "required": ["file_path", "old_string", "new_string"],
  "additionalProperties": false
}"#;

/// Replaces exact texts.
pub(crate) struct Edit {
    spec: ToolSpec,
    files: Arc<Files>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    file_path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

impl Edit {
    pub(crate) fn new(files: Arc<Files>) -> Result<Self, serde_json::Error> {
        Ok(Self { spec: spec("edit", DESCRIPTION, PARAMETERS)?, files })
    }
}

/// What a call of `edit` would do.
pub(crate) fn plan(files: &Files, call: &Call) -> Result<Change, ToolError> {
    let Arguments { file_path, old_string, new_string, replace_all } = arguments(call)?;
    if old_string.is_empty() {
        return Err(ToolError::arguments("`old_string` is empty; a new file is made with write"));
    }
    let place = files.workspace.place(&file_path)?;
    let path = place.shown.clone();
    let before = place.text()?.ok_or(FileError::Missing { path: path.clone() })?;
    files.unchanged(&place, before.1)?;
    let (old, new) =
        if all_crlf(&before.0) && !old_string.contains('\r') && !new_string.contains('\r') {
            (old_string.replace('\n', "\r\n"), new_string.replace('\n', "\r\n"))
        } else {
            (old_string, new_string)
        };
    if old == new {
        return Err(ToolError::arguments("`old_string` and `new_string` are the same"));
    }
    let after = replaced(&path, &before.0, &old, &new, replace_all)?;
    if after.len() as u64 > MOST {
        return Err(FileError::Large { path, bytes: after.len() as u64, most: MOST }.into());
    }
    Ok(Change { place, before: Some(before), after })
}

fn replaced(path: &str, text: &str, old: &str, new: &str, all: bool) -> Result<String, ToolError> {
    let found: Vec<usize> = text.match_indices(old).map(|(at, _)| at).collect();
    match *found {
        [] => Err(no_match(path, text, old)),
        [_] => Ok(text.replacen(old, new, 1)),
        _ if all => Ok(text.replace(old, new)),
        _ => {
            let line =
                |at: &usize| text.get(..*at).map_or(1, |head| head.matches('\n').count() + 1);
            let lines: Vec<String> =
                found.iter().take(NAMED).map(|at| line(at).to_string()).collect();
            let more = if found.len() > NAMED { " and more" } else { "" };
            let said = format!(
                "old_string occurs {} times in {path}, at lines {}{more}; say more of its surroundings, or set replace_all",
                found.len(),
                lines.join(", ")
            );
            Err(ToolError::new("EditError", "NOT_UNIQUE", &said))
        }
    }
}

fn no_match(path: &str, text: &str, old: &str) -> ToolError {
    let mut said = format!("old_string does not occur in {path}");
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted = old.lines().map(words).find(|line| !line.is_empty());
    let near = wanted.and_then(|wanted| text.lines().position(|line| words(line) == wanted));
    if let Some(line) = near {
        said.push_str(&format!(
            "; line {} differs from its beginning in white space or after it only, read it again",
            line + 1
        ));
    }
    ToolError::new("EditError", "NO_MATCH", &said)
}

#[async_trait]
impl Tool for Edit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, call: Call, _: Cancel) -> Result<ToolOutput, ToolError> {
        let files = Arc::clone(&self.files);
        blocking(move || {
            let change = plan(&files, &call)?;
            files.apply(&call.id, &change)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, old: &str, new: &str, all: bool, expected: Result<&str, &str>) {
        let got = replaced("f", text, old, new, all).map_err(|error| error.message);
        match (&got, expected) {
            (Ok(text), Ok(expected)) => assert_eq!(text, expected),
            (Err(said), Err(part)) => assert!(said.contains(part), "{said}"),
            _ => panic!("{got:?}"),
        }
    }

    #[test]
    fn one_occurrence_is_replaced() {
        check("日本 👩\u{200d}💻 x", "👩\u{200d}💻", "é", false, Ok("日本 é x"));
        check("a b", "b", "$0 \\1", false, Ok("a $0 \\1"));
    }

    #[test]
    fn several_need_to_be_meant() {
        check("a\nb\na\n", "a", "c", false, Err("2 times in f, at lines 1, 3;"));
        check("a\nb\na\n", "a", "c", true, Ok("c\nb\nc\n"));
    }

    #[test]
    fn what_nearly_matches_is_pointed_at() {
        check("x\n\tif a {\n", "    if a {\n", "", false, Err("line 2 differs"));
        check("x\n", "y", "", false, Err("does not occur in f"));
    }
}
