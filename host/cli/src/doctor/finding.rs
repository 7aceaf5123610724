//! What was found, and how it is told.

use std::io::{self, Write};

use serde::Serialize;

use crate::exit::Exit;
use crate::visible::{Line, Lines};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Grade {
    /// It is as it should be.
    Ok,
    /// Something works otherwise than a person may think.
    Warning,
    /// Something does not work.
    Fault,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding<'a> {
    finding: &'a str,
    grade: Grade,
    says: &'a str,
    /// What to do; none where nothing has to be done.
    fix: Option<&'a str>,
}

/// Tells findings as they are made, and counts them.
pub(super) struct Report<'a> {
    out: &'a mut dyn Write,
    json: bool,
    faults: usize,
    warnings: usize,
}

impl<'a> Report<'a> {
    pub(super) fn new(out: &'a mut dyn Write, json: bool) -> Self {
        Self { out, json, faults: 0, warnings: 0 }
    }

    /// It is as it should be.
    pub(super) fn ok(&mut self, finding: &str, says: &str) -> io::Result<()> {
        self.tell(&Finding { finding, grade: Grade::Ok, says, fix: None })
    }

    /// Something works otherwise than a person may think.
    pub(super) fn warning(&mut self, finding: &str, says: &str, fix: &str) -> io::Result<()> {
        self.warnings += 1;
        self.tell(&Finding { finding, grade: Grade::Warning, says, fix: Some(fix) })
    }

    /// Something does not work.
    pub(super) fn fault(&mut self, finding: &str, says: &str, fix: &str) -> io::Result<()> {
        self.faults += 1;
        self.tell(&Finding { finding, grade: Grade::Fault, says, fix: Some(fix) })
    }

    fn tell(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        if self.json {
            let line = serde_json::to_string(finding)?;
            return writeln!(self.out, "{line}");
        }
        let grade = match finding.grade {
            Grade::Ok => "ok",
            Grade::Warning => "warning",
            Grade::Fault => "fault",
        };
        let (name, says) = (finding.finding, Lines(finding.says).to_string());
        let mut lines = says.lines();
        let first = lines.next().unwrap_or_default();
        writeln!(self.out, "{grade:<8} {name:<18} {first}")?;
        lines.try_for_each(|line| writeln!(self.out, "{:27} {line}", ""))?;
        match finding.fix {
            Some(fix) => writeln!(self.out, "{:27} → {}", "", Line(fix)),
            None => Ok(()),
        }
    }

    /// The exit code: a warning alone is no failure.
    pub(super) fn close(self) -> anyhow::Result<Exit> {
        let Self { out, json, faults, warnings } = self;
        if !json {
            let count = |count: usize, what: &str| match count {
                1 => format!("1 {what}"),
                count => format!("{count} {what}s"),
            };
            writeln!(out, "{}, {}", count(faults, "fault"), count(warnings, "warning"))?;
        }
        Ok(if faults == 0 { Exit::Done } else { Exit::Failed })
    }
}
