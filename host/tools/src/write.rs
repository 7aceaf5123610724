//! `write`: a file, whole.

use std::sync::Arc;

use async_trait::async_trait;
use dsh_agent::{Call, Cancel, Tool, ToolError, ToolOutput, ToolSpec};
use serde::Deserialize;

use crate::FileError;
use crate::change::{Change, Files};
use crate::diff::all_crlf;
use crate::place::MOST;
use crate::spec::{arguments, blocking, spec};

const DESCRIPTION: &str = "Create a file, or replace all of it. \
Missing folders are made. The content is written exactly as given, in UTF-8. \
A file that exists must have been read in this session and not have changed since; to change a part of it use edit.";

const PARAMETERS: &str = r#"{
  "type": "object",
  "properties": {
    "file_path": {"type": "string", "description": "Path of the file, relative to the working directory or absolute."},
    "content": {"type": "string", "description": "The whole text of the file."}
  },
  "required": ["file_path", "content"],
  "additionalProperties": false
}"#;

/// Creates and replaces files.
pub(crate) struct Write {
    spec: ToolSpec,
    files: Arc<Files>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    file_path: String,
    content: String,
}

impl Write {
    pub(crate) fn new(files: Arc<Files>) -> Result<Self, serde_json::Error> {
        Ok(Self { spec: spec("write", DESCRIPTION, PARAMETERS)?, files })
    }
}

/// What a call of `write` would do.
pub(crate) fn plan(files: &Files, call: &Call) -> Result<Change, ToolError> {
    let Arguments { file_path, content } = arguments(call)?;
    let place = files.workspace.place(&file_path)?;
    if content.len() as u64 > MOST {
        let bytes = content.len() as u64;
        return Err(FileError::Large { path: place.shown, bytes, most: MOST }.into());
    }
    let before = place.text()?;
    if let Some((_, stamp)) = &before
        && !files.unchanged(&place, *stamp)?
    {
        return Err(FileError::Unread { path: place.shown }.into());
    }
    Ok(Change { place, before, after: content })
}

#[async_trait]
impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, call: Call, _: Cancel) -> Result<ToolOutput, ToolError> {
        let files = Arc::clone(&self.files);
        blocking(move || {
            let change = plan(&files, &call)?;
            let mut output = files.apply(&call.id, &change)?;
            let was_crlf = change.before.as_ref().is_some_and(|(text, _)| all_crlf(text));
            if was_crlf && !all_crlf(&change.after) {
                let note = ToolOutput::text(
                    "Note: its lines ended in CRLF; those of the new text do not.",
                )?;
                output.content.extend(note.content);
            }
            Ok(output)
        })
        .await
    }
}
