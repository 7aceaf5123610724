//! What a person typed after a command.

use crate::error::Error;

/// What `/merge` is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge<'a> {
    /// A note for the parent.
    Note {
        /// Whether the person sees it first and can edit it.
        preview: bool,
        /// What the person wants in it; empty for whatever the side session finds worth it.
        instruction: &'a str,
        /// The event up to which an edited note speaks; comes with a draft that was accepted.
        through: Option<u64>,
    },
    /// To withdraw the last note.
    Undo,
    /// A session from before the last note.
    Fork,
}

const TAKES: &str = "an instruction, --preview with or without one, --undo or --fork";

impl<'a> Merge<'a> {
    /// Reads the arguments of `/merge`.
    ///
    /// # Errors
    ///
    /// A flag that there is none of, or one that stands alone and has company.
    pub fn parse(arguments: &'a str) -> Result<Self, Error> {
        let refused =
            || Error::Arguments { command: "merge", argument: arguments.to_owned(), takes: TAKES };
        let (mut rest, mut preview, mut through) = (arguments, false, None);
        while rest.starts_with("--") {
            let (flag, after) = word(rest);
            match flag {
                "--undo" if arguments == flag => return Ok(Self::Undo),
                "--fork" if arguments == flag => return Ok(Self::Fork),
                "--preview" if !preview => preview = true,
                _ => {
                    let seq = flag.strip_prefix(THROUGH).and_then(|seq| seq.parse().ok());
                    through = Some(seq.filter(|_| through.is_none()).ok_or_else(refused)?);
                }
            }
            rest = after;
        }
        Ok(Self::Note { preview, instruction: rest, through })
    }
}

const THROUGH: &str = "--through=";

/// The arguments with which the draft of a note that speaks up to event `seq` is accepted.
pub fn accept(seq: u64) -> String {
    format!("{THROUGH}{seq}")
}

/// The first word and what follows it.
fn word(text: &str) -> (&str, &str) {
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim_start()),
        None => (text, ""),
    }
}

/// Whether `/promote` was said yes to.
///
/// # Errors
///
/// Any other argument.
pub fn promoted(arguments: &str) -> Result<bool, Error> {
    match arguments {
        "" => Ok(false),
        "--yes" => Ok(true),
        _ => Err(Error::Arguments {
            command: "promote",
            argument: arguments.to_owned(),
            takes: "nothing, or --yes for an answer beforehand",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(preview: bool, instruction: &str, through: Option<u64>) -> Merge<'_> {
        Merge::Note { preview, instruction, through }
    }

    #[test]
    fn side_merge_takes_flags_before_its_instruction() {
        for (typed, read) in [
            ("", note(false, "", None)),
            ("only the bug", note(false, "only the bug", None)),
            ("--preview", note(true, "", None)),
            ("--preview  only\nthe bug", note(true, "only\nthe bug", None)),
            ("the flag --preview", note(false, "the flag --preview", None)),
            ("--undo", Merge::Undo),
            ("--fork", Merge::Fork),
        ] {
            assert_eq!(Merge::parse(typed), Ok(read), "{typed:?}");
        }
    }

    #[test]
    fn side_merge_refuses_flags_that_it_does_not_know() {
        for typed in
            ["--undo now", "--preview --undo", "--forc", "--preview --preview", "--through=x"]
        {
            let refused = Merge::parse(typed).expect_err(typed);
            assert_eq!(refused.code(), "SIDECHAT_INVALID_ARGUMENTS");
            assert!(refused.to_string().contains(typed), "{refused}");
        }
    }

    #[test]
    fn side_draft_keeps_what_it_speaks_of() {
        assert_eq!(Merge::parse(&accept(17)), Ok(note(false, "", Some(17))));
    }

    #[test]
    fn side_promotion_is_asked_for_unless_yes_was_said() {
        assert_eq!((promoted(""), promoted("--yes")), (Ok(false), Ok(true)));
        assert!(promoted("yes").is_err());
    }
}
