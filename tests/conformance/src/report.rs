//! Running families, and saying how they ended.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use anyhow::Result;

use crate::family::Family;
use crate::subject::Subject;
use crate::vector::{Skip, Vector, Verdict};

/// How many vectors may be skipped, besides those for a text with lone surrogates.
const MOST_SKIPS: usize = 25;

/// How many vectors ended in which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// As expected.
    pub passed: usize,
    /// Otherwise.
    pub failed: usize,
    /// Not run.
    pub skipped: usize,
    /// Of those not run, the ones for another reason than a text with lone surrogates.
    pub unsaid: usize,
}

impl Tally {
    /// Whether nothing failed, and no more was skipped than may be.
    pub fn is_success(&self) -> bool {
        self.failed == 0 && self.unsaid <= MOST_SKIPS
    }

    fn count(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Failed { .. } => self.failed += 1,
            Verdict::Skipped(skip) => {
                self.skipped += 1;
                self.unsaid += usize::from(*skip != Skip::LoneSurrogateInText);
            }
        }
    }

    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.unsaid += other.unsaid;
    }
}

/// Runs the vectors of `families` in `directory`. Writes to `out` a line for
/// each family, for each vector that failed what was expected and what came,
/// for each that was skipped why, and the sum.
///
/// # Errors
///
/// When a family's file cannot be read, or `out` not be written to.
pub async fn run(directory: &Path, families: &[Family], out: &mut dyn io::Write) -> Result<Tally> {
    let subject = Subject::new()?;
    let mut total = Tally::default();
    for family in families {
        let vectors = Vector::read_all(&directory.join(family.name()).with_extension("json"))?;
        let mut tally = Tally::default();
        let mut details = String::new();
        for vector in &vectors {
            let verdict = vector.judge(family.run(&subject, vector).await);
            tally.count(&verdict);
            let name = &vector.name;
            match verdict {
                Verdict::Passed => {}
                Verdict::Failed { expected, got } => {
                    write!(
                        details,
                        "  FAILED {name}\n    expected {expected}\n    got      {got}\n"
                    )?;
                }
                Verdict::Skipped(skip) => writeln!(details, "  skipped {name}: {skip}")?,
            }
        }
        let Tally { passed, failed, skipped, .. } = tally;
        let name = family.name();
        writeln!(out, "{name:<14} {passed} passed, {failed} failed, {skipped} skipped")?;
        out.write_all(details.as_bytes())?;
        total.add(tally);
    }
    if total.unsaid > MOST_SKIPS {
        let unsaid = total.unsaid;
        writeln!(out, "too many skipped: {unsaid} besides texts, where {MOST_SKIPS} may be")?;
    }
    let Tally { passed, failed, skipped, .. } = total;
    writeln!(out, "{passed} passed, {failed} failed, {skipped} skipped")?;
    Ok(total)
}
