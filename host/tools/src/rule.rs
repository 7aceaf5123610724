//! One approval rule: a tool, and what it is called with.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use globset::{GlobBuilder, GlobMatcher};
use thiserror::Error;

use crate::command::{Simple, possible_commands, simple_commands};
use crate::subject::Subject;

/// Calls of one tool, all of them or those that fit a pattern.
///
/// ```text
/// write                  every call of write
/// write(src/**)          files below src; globs from the working directory, or from / where they begin so
/// shell(git status *)    git status with any arguments or none; * is any text, \* a star
/// github__*              every tool of the MCP server github
/// ```
///
/// A pattern for paths is a glob in which `*` stays within a folder and `**` does not; it is held against where a
/// path really leads. A pattern for commands is held against each program that a line runs.
#[derive(Clone, Debug)]
pub struct Rule {
    text: String,
    tool: String,
    pattern: Option<Pattern>,
}

#[derive(Clone, Debug)]
enum Pattern {
    Command(String),
    Path {
        /// From the root of the file system, not from the working directory.
        absolute: bool,
        glob: GlobMatcher,
        /// The same, whatever the case: for rules that deny, as a file system may not tell cases apart.
        caseless: GlobMatcher,
    },
}

/// Why a text is no rule.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{rule:?} is no approval rule: {why}")]
pub struct RuleError {
    /// As it was given.
    pub rule: String,
    /// What is wrong with it, and what would be right.
    pub why: String,
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let wrong = |why: &str| RuleError { rule: text.to_owned(), why: why.to_owned() };
        let rule = text.trim();
        let (tool, pattern) = match rule.split_once('(') {
            None => (rule, None),
            Some((tool, pattern)) => {
                let pattern = pattern
                    .strip_suffix(')')
                    .ok_or_else(|| wrong("its parenthesis is not closed"))?;
                (tool, Some(pattern))
            }
        };
        let fits = |char: char| char.is_ascii_alphanumeric() || "_-*".contains(char);
        if tool.is_empty() || !tool.chars().all(fits) {
            return Err(wrong("say a tool, or a tool and a pattern, such as `write(src/**)`"));
        }
        let pattern = match (tool, pattern) {
            (_, None) => None,
            (_, Some("")) => {
                return Err(wrong(
                    "its pattern is empty; without parentheses it holds for every call",
                ));
            }
            ("shell", Some(pattern)) => Some(Pattern::Command(pattern.to_owned())),
            ("read" | "list" | "search" | "write" | "edit", Some(pattern)) => {
                Some(Pattern::path(pattern).map_err(|why| wrong(&why))?)
            }
            _ => {
                return Err(wrong("only shell, read, list, search, write and edit take a pattern"));
            }
        };
        Ok(Self { text: rule.to_owned(), tool: tool.to_owned(), pattern })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Pattern {
    fn path(pattern: &str) -> Result<Self, String> {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let build = |caseless| {
            let mut glob = GlobBuilder::new(pattern);
            let glob = glob.literal_separator(true).case_insensitive(caseless).build();
            glob.map(|glob| glob.compile_matcher()).map_err(|error| error.kind().to_string())
        };
        Ok(Self::Path {
            absolute: pattern.starts_with('/'),
            glob: build(false)?,
            caseless: build(true)?,
        })
    }
}

impl Rule {
    fn is_for(&self, tool: &str) -> bool {
        fits(&self.tool, tool)
    }

    /// Whether it is about this tool, with or without a pattern.
    pub(crate) fn has_pattern_for(&self, tool: &str) -> bool {
        self.pattern.is_some() && self.is_for(tool)
    }

    /// Whether it covers all of a call.
    pub(crate) fn covers(&self, tool: &str, subject: &Subject) -> bool {
        self.is_for(tool)
            && match (&self.pattern, subject) {
                (None, _) => true,
                (
                    Some(Pattern::Path { absolute, glob, .. }),
                    Subject::Path { real, inside, .. },
                ) => {
                    if *absolute {
                        glob.is_match(real)
                    } else {
                        inside.as_ref().is_some_and(|inside| glob.is_match(inside))
                    }
                }
                _ => false,
            }
    }

    /// Whether it covers one program of a line.
    pub(crate) fn covers_command(&self, simple: &Simple) -> bool {
        self.is_for("shell")
            && match &self.pattern {
                None => true,
                Some(Pattern::Command(pattern)) => fits(pattern, &simple.written),
                Some(Pattern::Path { .. }) => false,
            }
    }

    /// Whether it is about anything in a call: for rules that deny or ask, which had better see too much.
    pub(crate) fn touches(&self, tool: &str, subject: &Subject) -> bool {
        self.is_for(tool)
            && match (&self.pattern, subject) {
                (None, _) => true,
                (Some(Pattern::Path { .. }), Subject::Path { real, inside, said, said_inside }) => {
                    self.touches_path(real, inside.as_deref())
                        || self.touches_path(said, said_inside.as_deref())
                }
                (Some(Pattern::Command(pattern)), Subject::Command { line, .. }) => {
                    match simple_commands(line) {
                        Some(simple) => simple.iter().any(|simple| {
                            fits(pattern, &simple.written) || fits(pattern, &simple.bare)
                        }),
                        None => {
                            fits(pattern, line)
                                || possible_commands(line).any(|part| fits(pattern, part))
                        }
                    }
                }
                _ => false,
            }
    }

    /// Whether it is about this path or a folder above it.
    fn touches_path(&self, real: &Path, inside: Option<&Path>) -> bool {
        let Some(Pattern::Path { absolute, caseless, .. }) = &self.pattern else { return false };
        let path = if *absolute { Some(real) } else { inside };
        path.is_some_and(|path| {
            path.ancestors().any(|path| !path.as_os_str().is_empty() && caseless.is_match(path))
        })
    }
}

/// Whether `text` fits a pattern in which `*` is any text and `\` takes the next character as it is.
///
/// A pattern that ends in a space and a star fits a text without arguments too.
fn fits(pattern: &str, text: &str) -> bool {
    if let Some(alone) = pattern.strip_suffix(" *")
        && !alone.ends_with('\\')
        && star(alone, text)
    {
        return true;
    }
    star(pattern, text)
}

/// Goes back to the last star only, so its time is the product of both lengths at most.
fn star(pattern: &str, text: &str) -> bool {
    let mut pattern_chars = Vec::new();
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        pattern_chars.push(match char {
            '*' => None,
            '\\' => Some(chars.next().unwrap_or('\\')),
            _ => Some(char),
        });
    }
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut in_pattern, mut back) = (0, 0, None);
    while at < text.len() {
        match pattern_chars.get(in_pattern) {
            Some(None) => {
                back = Some((in_pattern, at));
                in_pattern += 1;
            }
            Some(Some(char)) if text.get(at) == Some(char) => {
                at += 1;
                in_pattern += 1;
            }
            _ => match back {
                Some((star, from)) => {
                    back = Some((star, from + 1));
                    (in_pattern, at) = (star + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern_chars.iter().skip(in_pattern).all(Option::is_none)
}

/// A text as a pattern that fits it alone.
pub(crate) fn exactly(text: &str) -> String {
    text.replace('\\', "\\\\").replace('*', "\\*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_are_any_text() {
        for (pattern, text, expected) in [
            ("git status*", "git status --short", true),
            ("git status*", "git stash", false),
            ("git status *", "git status", true),
            ("git status *", "git status -s", true),
            ("git status *", "git statusx", false),
            ("*", "", true),
            ("a*b*c", "a x b y b c", true),
            ("a*b*c", "acb", false),
            (r"ls \*", "ls *", true),
            (r"ls \*", "ls a", false),
            (r"ls \*", "ls", false),
            ("日*", "日本", true),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern:?} {text:?}");
        }
        assert!(fits(&exactly(r"a * \ b"), r"a * \ b"));
        assert!(!fits(&exactly("a *"), "a b"));
    }

    #[test]
    fn a_wrong_rule_says_what_is_wrong() {
        for (rule, why) in [
            ("", "say a tool"),
            ("write(src/**", "not closed"),
            ("write()", "is empty"),
            ("write(a[)", "character class"),
            ("github__issue(x)", "take a pattern"),
            ("rm -rf", "say a tool"),
        ] {
            let error = rule.parse::<Rule>().unwrap_err().to_string();
            assert!(error.contains(why), "{rule:?}: {error}");
        }
    }
}
