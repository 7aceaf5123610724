//! One golden vector: what goes in, what must come out, and how both compare.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::wtf16;

/// One vector of a family.
#[derive(Debug, Clone)]
pub struct Vector {
    /// Unique in its family.
    pub name: String,
    /// Every member of the vector.
    members: Map<String, Value>,
    /// The vector as it stands in its file.
    line: String,
}

/// What a vector came to when it was run.
#[derive(Debug, Clone)]
pub struct Got {
    /// What came out, or the code that it failed with.
    pub outcome: Result<Value, String>,
    /// What else was seen, under the names that the vectors have for it.
    pub seen: Map<String, Value>,
}

/// Why a vector is not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Skip {
    /// A text holds a lone surrogate, which crosses no component's boundary.
    #[error("a text with a lone surrogate")]
    LoneSurrogateInText,
    /// The call is cancelled before it is made.
    #[error("cancelled before the call")]
    CancelledBefore,
    /// What comes out depends on which of two reads ends first.
    #[error("depends on which read ends first")]
    OrderOfReads,
    /// The contract has no shape for what goes in or comes out.
    #[error("the contract cannot say it: {0}")]
    Shape(&'static str),
}

/// How a vector ended.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// As expected.
    Passed,
    /// Otherwise: what was expected and what came, as JSON.
    Failed {
        /// The vector's side.
        expected: String,
        /// Ours.
        got: String,
    },
    /// Not run.
    Skipped(Skip),
}

impl Vector {
    /// The vectors of a file, one in each line.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is no such file.
    pub fn read_all(path: &Path) -> Result<Vec<Self>> {
        let read = || format!("reading {}", path.display());
        let text = fs::read_to_string(path).with_context(read)?;
        let lines = text.lines().map(|line| line.trim().trim_end_matches(','));
        let lines = lines.filter(|line| !matches!(*line, "" | "[" | "]"));
        let vectors = lines.map(Self::parse).collect::<Result<Vec<_>>>().with_context(read)?;
        ensure!(!vectors.is_empty(), "{} holds no vector", path.display());
        Ok(vectors)
    }

    fn parse(line: &str) -> Result<Self> {
        let mut members = match wtf16::value(line)? {
            Value::Object(members) => members,
            other => anyhow::bail!("a vector that is no object: {other}"),
        };
        let name = members.remove("name").context("a vector without a name")?;
        let name = name.as_str().context("a name that is no string")?.to_owned();
        ensure!(members.contains_key("input"), "{name}: no input");
        let ends = members.contains_key("expected") ^ members.contains_key("error_code");
        ensure!(ends, "{name}: neither `expected` nor `error_code`, or both");
        read_once(members.get_mut("reads"));
        read_once(members.get_mut("expected").and_then(|expected| expected.get_mut("reads")));
        Ok(Self { name, members, line: line.to_owned() })
    }

    /// A member of the input; null where there is none.
    pub fn input(&self, name: &str) -> &Value {
        self.members.get("input").and_then(|input| input.get(name)).unwrap_or(&Value::Null)
    }

    /// A string of the input.
    ///
    /// # Errors
    ///
    /// When it is none.
    pub fn input_str(&self, name: &str) -> Result<&str> {
        self.input(name).as_str().with_context(|| format!("{name} is no string"))
    }

    /// A member of the input as it stands in the file, its keys in their order.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn input_json(&self, name: &str) -> Result<&str> {
        let line: BTreeMap<String, &RawValue> = serde_json::from_str(&self.line)?;
        let input = line.get("input").context("no input")?.get();
        let input: BTreeMap<String, &RawValue> = serde_json::from_str(input)?;
        Ok(input.get(name).with_context(|| format!("no {name}"))?.get())
    }

    /// What must come out; none of a vector that must fail.
    pub fn expected(&self) -> Option<&Value> {
        self.members.get("expected")
    }

    /// Compares what came out.
    pub fn judge(&self, got: Result<Got>) -> Verdict {
        let got = match got {
            Ok(got) => got,
            Err(error) => match error.downcast_ref() {
                Some(skip) => return Verdict::Skipped(*skip),
                None => return self.failed(format!("could not be run: {error:#}")),
            },
        };
        match (self.members.get("error_code"), got.outcome) {
            (None, Ok(mut value)) => {
                // Among what comes out is what was seen on the way.
                if let (Value::Object(members), Some(expected)) = (&mut value, self.expected()) {
                    let wanted = |name: &String| expected.get(name).is_some();
                    members.extend(got.seen.into_iter().filter(|(name, _)| wanted(name)));
                }
                match self.expected() == Some(&value) {
                    true => Verdict::Passed,
                    false => self.failed(wtf16::json(&value)),
                }
            }
            (Some(code), Err(got_code)) => {
                let mut wrong = Map::new();
                if code.as_str() != Some(&got_code) {
                    wrong.insert("error_code".into(), got_code.into());
                }
                for (name, seen) in got.seen {
                    if self.members.get(&name).is_some_and(|expected| *expected != seen) {
                        wrong.insert(name, seen);
                    }
                }
                match wrong.is_empty() {
                    true => Verdict::Passed,
                    false => self.failed(wtf16::json(&wrong.into())),
                }
            }
            (_, Ok(value)) => self.failed(wtf16::json(&value)),
            (_, Err(code)) => self.failed(format!("error {code}")),
        }
    }

    fn failed(&self, got: String) -> Verdict {
        let mut expected = self.members.clone();
        expected.remove("input");
        Verdict::Failed { expected: wtf16::json(&expected.into()), got }
    }
}

/// Leaves each id once in a list of reads: what is asked for twice in one call is read once.
fn read_once(reads: Option<&mut Value>) {
    if let Some(Value::Array(reads)) = reads {
        let mut seen = Vec::new();
        reads.retain(|id| {
            !seen.contains(id) && {
                seen.push(id.clone());
                true
            }
        });
    }
}
