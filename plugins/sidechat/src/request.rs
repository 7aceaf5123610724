//! How a side session is asked for its handback.

/// The request, for a handback of at most `bytes` bytes; `instruction` is the person's, empty where there is none.
pub fn text(bytes: usize, instruction: &str) -> String {
    let mut text = format!(
        "Write a note for the session that this side session was opened on. At most {bytes} bytes of it are passed on, and nothing else of what was said here is.\n\
         Say what that session needs to know of it: findings, decisions, what is open, with names of files and things. \
         Do not use tools, and do not tell that session what to do next. Answer with the note alone."
    );
    if !instruction.is_empty() {
        text.push_str("\nWhat the person wants in it: ");
        text.push_str(instruction);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn side_handback_is_asked_for_with_its_size_and_the_persons_wish() {
        let plain = text(8000, "");
        assert!(plain.contains("8000 bytes") && !plain.contains("person wants"), "{plain}");
        assert!(text(8000, "only the bug").ends_with("What the person wants in it: only the bug"));
    }
}
