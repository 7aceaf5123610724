//! `search`: lines that match a regular expression.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use dsh_agent::{Call, Cancel, Tool, ToolError, ToolOutput, ToolSpec};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use serde::Deserialize;

use crate::change::Files;
use crate::list::{glob, walk};
use crate::spec::{arguments, blocking, cancelled, spec};

/// Most matching lines of a reply, whatever is asked for.
const MATCHES: u64 = 1000;

/// Matching lines of a reply where nobody says.
const USUAL: u64 = 200;

/// Most bytes of a reply.
const MOST: usize = 64 << 10;

/// Most bytes of one line that are shown.
const LINE: usize = 500;

/// Most bytes of one line that are searched; a file with a longer one is left out, and said so.
const HEAP: usize = 16 << 20;

const DESCRIPTION: &str = "Search the contents of files for a regular expression (Rust syntax, line by line). \
Matches come as path, then `number:line`, neighbouring lines as `number-line`. \
Hidden, git-ignored and binary files are left out unless all is set, which takes hidden and ignored ones. \
At most 200 matching lines come, or limit, up to 1000.";

const PARAMETERS: &str = r#"{
  "type": "object",
  "properties": {
    "pattern": {"type": "string", "description": "The regular expression."},
    "path": {"type": "string", "description": "A folder or a file. Default: the working directory."},
    "include": {"type": "string", "description": "Only files that match this glob, such as `*.rs` or `src/**`."},
    "literal": {"type": "boolean", "description": "Take the pattern as text. Default: false."},
    "ignore_case": {"type": "boolean", "description": "Take upper and lower case as the same. Default: false."},
    "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines shown around each match. Default: 0."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "Most matching lines. Default: 200."},
    "all": {"type": "boolean", "description": "Hidden and ignored files too. Default: false."}
  },
  "required": ["pattern"],
  "additionalProperties": false
}"#;

/// Searches files.
pub(crate) struct Search {
    spec: ToolSpec,
    files: Arc<Files>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    pattern: String,
    path: Option<String>,
    include: Option<String>,
    #[serde(default)]
    literal: bool,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    context: usize,
    limit: Option<u64>,
    #[serde(default)]
    all: bool,
}

impl Search {
    pub(crate) fn new(files: Arc<Files>) -> Result<Self, serde_json::Error> {
        Ok(Self { spec: spec("search", DESCRIPTION, PARAMETERS)?, files })
    }
}

#[async_trait]
impl Tool for Search {
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
        blocking(move || search(&files, &call, cancel)).await
    }
}

fn search(files: &Files, call: &Call, cancel: Cancel) -> Result<ToolOutput, ToolError> {
    let Arguments { pattern, path, include, literal, ignore_case, context, limit, all } =
        arguments(call)?;
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(ignore_case).fixed_strings(literal).line_terminator(Some(b'\n'));
    let matcher = builder.build(&pattern);
    let matcher = matcher
        .map_err(|error| ToolError::arguments(&format!("`pattern` cannot be used: {error}")))?;
    let root = files.workspace.place(path.as_deref().unwrap_or("."))?;
    root.exists()?;
    let base = if root.is_folder().is_ok() { root.real.as_path() } else { files.workspace.cwd() };
    let only = include.as_deref().map(|include| glob(base, "include", include)).transpose()?;
    let context = context.min(20);
    let searcher = SearcherBuilder::new()
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(HEAP))
        .build();
    let left = limit.unwrap_or(USUAL).clamp(1, MATCHES);
    let mut found = Found { text: String::new(), notes: Vec::new(), left, full: false, cancel };
    let mut looking = Looking { files, searcher, matcher };
    for entry in walk(&root.real, all, usize::MAX).build() {
        if found.cancel.cause().is_some() {
            return Err(cancelled());
        }
        if found.full {
            break;
        }
        match entry {
            Ok(entry) if entry.file_type().is_none_or(|kind| !kind.is_file()) => {}
            Ok(entry)
                if only
                    .as_ref()
                    .is_some_and(|only| !only.matched(entry.path(), false).is_whitelist()) => {}
            Ok(entry) => looking.file(entry.path(), &mut found),
            Err(error) => found.notes.push(error.to_string()),
        }
    }
    if found.cancel.cause().is_some() {
        return Err(cancelled());
    }
    ToolOutput::text(&found.finish())
}

struct Looking<'a> {
    files: &'a Files,
    searcher: Searcher,
    matcher: RegexMatcher,
}

impl Looking<'_> {
    /// Searches one file, unless `read` may not read it.
    fn file(&mut self, path: &Path, found: &mut Found) {
        let workspace = &self.files.workspace;
        let shown = workspace.shown(path);
        if self.files.rules.denies_reading(workspace, path) {
            return found.notes.push(format!("{shown}: left out, a rule denies reading it"));
        }
        let Some(said) = path.to_str() else {
            return found.notes.push(format!("{shown}: left out, its name is not UTF-8"));
        };
        let mut hits = Hits { path: &shown, named: false, found };
        // Opened by its own walk, so that a folder that became a link meanwhile leads nowhere else.
        let searched = match workspace.place(said).and_then(|place| place.open()) {
            Ok((file, _)) => self
                .searcher
                .search_reader(&self.matcher, file, &mut hits)
                .map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = searched {
            found.notes.push(format!("{shown}: left out, {error}"));
        }
    }
}

/// What was found so far.
struct Found {
    text: String,
    notes: Vec<String>,
    /// How many matching lines may still come.
    left: u64,
    full: bool,
    cancel: Cancel,
}

impl Found {
    fn finish(mut self) -> String {
        if self.text.is_empty() {
            self.text.push_str("[no matches]\n");
        }
        if self.full {
            self.text.push_str(
                "[more matches: say a narrower pattern, path or include, or a higher limit]\n",
            );
        }
        let more = self.notes.len().saturating_sub(20);
        for note in self.notes.iter().take(20) {
            let _ = writeln!(self.text, "[{note}]");
        }
        if more > 0 {
            let _ = writeln!(self.text, "[{more} more files left out]");
        }
        self.text.truncate(self.text.trim_end_matches('\n').len());
        self.text
    }
}

/// The matches of one file.
struct Hits<'a> {
    path: &'a str,
    named: bool,
    found: &'a mut Found,
}

impl Hits<'_> {
    fn line(&mut self, number: Option<u64>, mark: char, line: &[u8]) {
        if !self.named {
            self.named = true;
            let gap = if self.found.text.is_empty() { "" } else { "\n" };
            let _ = writeln!(self.found.text, "{gap}{}", self.path);
        }
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches(['\n', '\r']);
        let shown = line.get(..line.floor_char_boundary(LINE)).unwrap_or(line);
        let _ = write!(self.found.text, "{}{mark}{shown}", number.unwrap_or_default());
        if shown.len() < line.len() {
            let _ =
                write!(self.found.text, " [{} more bytes in this line]", line.len() - shown.len());
        }
        self.found.text.push('\n');
    }
}

impl Sink for Hits<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, hit: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.found.left == 0 || self.found.text.len() > MOST {
            self.found.full = true;
            return Ok(false);
        }
        self.found.left -= 1;
        self.line(hit.line_number(), ':', hit.bytes());
        Ok(self.found.cancel.cause().is_none())
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, io::Error> {
        if *line.kind() == SinkContextKind::Before && self.found.left == 0 {
            return Ok(true);
        }
        self.line(line.line_number(), '-', line.bytes());
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        if self.named && self.found.left > 0 {
            self.found.text.push_str("--\n");
        }
        Ok(true)
    }
}
