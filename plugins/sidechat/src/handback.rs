//! The note that a side session leaves in the session it was opened on, cut to its cap.

/// A note that fits its cap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capped {
    /// The whole note: heading, handback, and how much of it is missing.
    pub text: String,
    /// Bytes of the handback that are not in it.
    pub omitted: usize,
}

/// The note that speaks for `child` up to its event `through`, in at most `cap` bytes, all of it counted.
///
/// A longer handback is cut at a character, with the exact number of bytes left out. Blanks around it are no part of
/// it. With the smallest cap that the settings allow there is room for some of any handback.
pub fn note(child: &str, through: u64, handback: &str, cap: usize) -> Capped {
    let (heading, handback) = (heading(child, through, cap), handback.trim());
    let room = cap.saturating_sub(heading.len());
    if handback.len() <= room {
        return Capped { text: heading + handback, omitted: 0 };
    }
    // The number in the notice is at most this one, and so is its length.
    let reserved = notice(handback.len()).len();
    let kept = handback.get(..handback.floor_char_boundary(room.saturating_sub(reserved)));
    let kept = kept.unwrap_or_default();
    let omitted = handback.len() - kept.len();
    Capped { text: heading + kept + &notice(omitted), omitted }
}

/// How many bytes of a handback of `child` surely pass uncut.
pub fn room(child: &str, through: u64, cap: usize) -> usize {
    cap.saturating_sub(heading(child, through, cap).len())
}

/// Says whose words follow. An id is as long as somebody liked: one that would take a quarter of the note is left to
/// the message's facts.
fn heading(child: &str, through: u64, cap: usize) -> String {
    let whose = if child.len() <= cap / 4 { format!(" {child}") } else { String::new() };
    format!(
        "A note from the side session{whose}, of what was said there up to event {through}:\n\n"
    )
}

fn notice(omitted: usize) -> String {
    format!("\n\n[Cut here: {omitted} more bytes were left out.]")
}

/// What stands in the place of a note that was withdrawn.
pub const WITHDRAWN: &str = "[A note from a side session stood here and was withdrawn.]";

#[cfg(test)]
mod tests {
    use super::*;

    const CAP: usize = 512;

    #[test]
    fn side_note_that_fits_is_whole() {
        let Capped { text, omitted } = note("s1", 17, "  It is the cache.\n", CAP);
        assert_eq!(omitted, 0);
        let heading = "A note from the side session s1, of what was said there up to event 17:";
        assert_eq!(text, format!("{heading}\n\nIt is the cache."));
        let fits = "x".repeat(room("s1", 17, CAP));
        assert_eq!(note("s1", 17, &fits, CAP).text.len(), CAP);
    }

    #[test]
    fn side_note_is_cut_at_a_character_and_says_exactly_how_much_is_missing() {
        for piece in ["x", "é", "木", "🦀", "e\u{301}"] {
            for extra in 1..200 {
                let handback = piece.repeat(room("s1", 17, CAP) / piece.len() + extra);
                let Capped { text, omitted } = note("s1", 17, &handback, CAP);
                assert!(text.len() <= CAP, "{} bytes", text.len());
                let (_, body) = text.split_once(":\n\n").expect("a heading");
                let (kept, notice) = body.split_once("\n\n[Cut here: ").expect("a notice");
                assert!(handback.starts_with(kept));
                assert_eq!(kept.len() + omitted, handback.len());
                assert!(notice.starts_with(&format!("{omitted} more bytes")), "{notice}");
                // No more room than a character and a digit or two is left unused.
                assert!(CAP - text.len() < 8, "{} bytes", text.len());
            }
        }
    }

    #[test]
    fn side_note_of_one_byte_too_many_is_cut() {
        let handback = "x".repeat(room("s1", 17, CAP) + 1);
        assert!(note("s1", 17, &handback, CAP).omitted > 1);
    }

    #[test]
    fn side_note_keeps_its_cap_whatever_the_id_is() {
        let id = "i".repeat(10_000);
        let Capped { text, omitted } = note(&id, u64::MAX, &"x".repeat(10_000), CAP);
        assert!(text.len() <= CAP && omitted < 10_000, "{} bytes", text.len());
        assert!(!text.contains("iii"));
    }
}
