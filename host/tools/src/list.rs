//! `list`: what is in a folder.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use dsh_agent::{Call, Cancel, Tool, ToolError, ToolOutput, ToolSpec};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder};
use serde::Deserialize;

use crate::change::Files;
use crate::spec::{arguments, blocking, cancelled, spec};

/// Most entries of a reply.
const ENTRIES: usize = 1000;

/// How deep a list with a pattern goes where nobody says.
const DEEP: usize = 64;

const DESCRIPTION: &str = "List files and folders, sorted by path; folders end in `/`, links show where they lead. \
Without a pattern it lists one folder; with one it looks in the folders below too. \
Hidden and git-ignored files are left out unless all is set. At most 1000 entries come.";

const PARAMETERS: &str = r#"{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The folder. Default: the working directory."},
    "pattern": {"type": "string", "description": "Only what matches this glob, such as `*.rs` (at any depth) or `src/**/*.ts`."},
    "depth": {"type": "integer", "minimum": 1, "description": "How many levels. Default: 1, or 64 with a pattern."},
    "all": {"type": "boolean", "description": "Hidden and ignored files too. Default: false."}
  },
  "additionalProperties": false
}"#;

/// Lists folders.
pub(crate) struct List {
    spec: ToolSpec,
    files: Arc<Files>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: Option<String>,
    pattern: Option<String>,
    depth: Option<usize>,
    #[serde(default)]
    all: bool,
}

impl List {
    pub(crate) fn new(files: Arc<Files>) -> Result<Self, serde_json::Error> {
        Ok(Self { spec: spec("list", DESCRIPTION, PARAMETERS)?, files })
    }
}

#[async_trait]
impl Tool for List {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn read_only(&self) -> bool {
        true
    }

    fn parallel(&self) -> bool {
        true
    }

    async fn run(&self, call: Call, cancel: Cancel) -> Result<ToolOutput, ToolError> {
        let files = Arc::clone(&self.files);
        blocking(move || list(&files, &call, &cancel)).await
    }
}

fn list(files: &Files, call: &Call, cancel: &Cancel) -> Result<ToolOutput, ToolError> {
    let Arguments { path, pattern, depth, all } = arguments(call)?;
    let root = files.workspace.place(path.as_deref().unwrap_or("."))?;
    root.is_folder()?;
    let only =
        pattern.as_deref().map(|pattern| glob(&root.real, "pattern", pattern)).transpose()?;
    let depth = depth.unwrap_or(if only.is_some() { DEEP } else { 1 }).max(1);
    let mut lines = Vec::new();
    let mut more = 0_usize;
    for entry in walk(&root.real, all, depth).build() {
        if cancel.cause().is_some() {
            return Err(cancelled());
        }
        // A folder that cannot be read is one line, not the end.
        let line = match entry {
            Ok(entry) if entry.depth() == 0 => continue,
            Ok(entry) => match &only {
                Some(only) if !matches(only, &entry) => continue,
                _ => line(&root.real, &entry),
            },
            Err(error) => format!("[{error}]"),
        };
        if lines.len() < ENTRIES { lines.push(line) } else { more += 1 }
    }
    if lines.is_empty() {
        lines.push(format!("[nothing in {}]", root.shown));
    }
    if more > 0 {
        lines.push(format!("[{more} more: say a pattern or a folder below]"));
    }
    ToolOutput::text(&lines.join("\n"))
}

fn line(root: &Path, entry: &DirEntry) -> String {
    let path = entry.path();
    let name = path.strip_prefix(root).unwrap_or(path).display();
    match entry.file_type() {
        Some(kind) if kind.is_dir() => format!("{name}/"),
        Some(kind) if kind.is_symlink() => {
            let target = std::fs::read_link(path).map(|target| target.display().to_string());
            format!("{name} -> {}", target.unwrap_or_default())
        }
        _ => name.to_string(),
    }
}

fn matches(only: &Override, entry: &DirEntry) -> bool {
    let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    only.matched(entry.path(), folder).is_whitelist()
}

/// A glob below `root`, as in a `.gitignore`; `argument` is whose it is.
pub(crate) fn glob(root: &Path, argument: &str, pattern: &str) -> Result<Override, ToolError> {
    let wrong =
        |error: ignore::Error| ToolError::arguments(&format!("`{argument}` is no glob: {error}"));
    if pattern.starts_with('!') {
        return Err(ToolError::arguments(&format!("`{argument}` cannot begin with `!`")));
    }
    let mut only = OverrideBuilder::new(root);
    only.add(pattern).map_err(wrong)?;
    only.build().map_err(wrong)
}

/// A walk below a folder, sorted, that follows no links and reads no settings of the user's.
pub(crate) fn walk(root: &Path, all: bool, depth: usize) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(!all).git_global(false).require_git(false).follow_links(false);
    walk.max_depth(Some(depth)).sort_by_file_path(Ord::cmp);
    walk.filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git");
    walk
}
