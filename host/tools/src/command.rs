//! Takes a shell's command line apart, where that can be done for certain.

use std::iter::Peekable;
use std::str::CharIndices;

/// What begins a construct of the shell's rather than a program, where a command begins with it.
const RESERVED: [&str; 20] = [
    "!", "{", "}", "[[", "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done",
    "case", "esac", "select", "function", "time", "coproc",
];

/// One program that a line runs, with its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    /// As it was written, with one space between words.
    pub(crate) written: String,
    /// Without quotes and escapes.
    pub(crate) bare: String,
}

/// The programs that a line runs, in order; none where that cannot be told for certain.
///
/// `;`, `&`, `&&`, `|`, `||` and line breaks part them. Whatever else could run or write something makes a line
/// uncertain: `$`, backquotes and parentheses outside of single quotes, redirections (but for those to `/dev/null`
/// and between outputs), comments, constructs such as `if` and `{`, and control characters.
pub(crate) fn simple_commands(line: &str) -> Option<Vec<Simple>> {
    let mut scan = Scan {
        line,
        chars: line.char_indices().peekable(),
        now: Simple::default(),
        done: Vec::new(),
        word: None,
    };
    scan.run()?;
    Some(scan.done)
}

/// The beginnings of everything in `line` that could be a command, found without regard to quotes: too many rather
/// than too few.
pub(crate) fn possible_commands(line: &str) -> impl Iterator<Item = &str> {
    let parts = line
        .split([';', '&', '|', '\n', '(', ')', '{', '}', '`', '\'', '"', '<', '>', '!', '#', '\\']);
    parts.flat_map(|part| {
        let starts = part.char_indices().filter(|(at, char)| {
            let before = part.get(..*at).and_then(|head| head.chars().next_back());
            !char.is_whitespace() && before.is_none_or(char::is_whitespace)
        });
        starts.filter_map(|(at, _)| part.get(at..)).map(str::trim_end)
    })
}

struct Scan<'a> {
    line: &'a str,
    chars: Peekable<CharIndices<'a>>,
    now: Simple,
    done: Vec<Simple>,
    /// Where the word that is open began in `written` and `bare`.
    word: Option<(usize, usize)>,
}

impl Scan<'_> {
    fn run(&mut self) -> Option<()> {
        while let Some((at, char)) = self.chars.next() {
            match char {
                ' ' | '\t' => self.word = None,
                '\n' | ';' => self.end()?,
                '|' => {
                    self.chars.next_if(|(_, next)| matches!(next, '|' | '&'));
                    self.end()?;
                }
                '&' if self.line.get(at + 1..)?.starts_with('>') => {
                    self.chars.next();
                    self.redirect(at + 1)?;
                }
                '&' => {
                    self.chars.next_if(|(_, next)| *next == '&');
                    self.end()?;
                }
                '<' | '>' => self.redirect(at)?,
                '\'' => self.quoted(char)?,
                '"' => self.quoted(char)?,
                '\\' => {
                    let (_, next) = self.chars.next().filter(|(_, next)| *next != '\n')?;
                    self.put(char, false);
                    self.put(next, true);
                }
                '$' | '`' | '(' | ')' => return None,
                '#' if self.word.is_none() => return None,
                _ if char.is_control() => return None,
                _ => {
                    self.put_both(char);
                }
            }
        }
        self.end()
    }

    fn put_both(&mut self, char: char) {
        self.begin();
        self.now.written.push(char);
        self.now.bare.push(char);
    }

    /// Adds what is written, or what it stands for.
    fn put(&mut self, char: char, bare: bool) {
        self.begin();
        self.now.written.push(char);
        if bare {
            self.now.bare.push(char);
        }
    }

    /// Opens a word, unless one is open.
    fn begin(&mut self) {
        if self.word.is_none() {
            if !self.now.written.is_empty() {
                self.now.written.push(' ');
                self.now.bare.push(' ');
            }
            self.word = Some((self.now.written.len(), self.now.bare.len()));
        }
    }

    fn quoted(&mut self, quote: char) -> Option<()> {
        self.put(quote, false);
        loop {
            let (_, char) = self.chars.next()?;
            match char {
                _ if char == quote => break,
                '$' | '`' if quote == '"' => return None,
                '\\' if quote == '"' => {
                    let (_, next) = self.chars.next()?;
                    self.put(char, !matches!(next, '"' | '\\'));
                    self.put(next, true);
                }
                _ if char.is_control() && !matches!(char, '\n' | '\t') => return None,
                _ => self.put_both(char),
            }
        }
        self.put(quote, false);
        Some(())
    }

    /// Leaves out a redirection that changes nothing; `at` is where its `<` or `>` stands.
    fn redirect(&mut self, at: usize) -> Option<()> {
        let rest = self.line.get(at..)?;
        let target =
            rest.strip_prefix(">>").or(rest.strip_prefix('>')).or(rest.strip_prefix('<'))?;
        let end = |rest: &str| rest.chars().next().is_none_or(|next| " \t\n;&|".contains(next));
        let after = match target.strip_prefix('&') {
            Some(output) if rest.starts_with('>') => {
                output.strip_prefix(|char: char| char.is_ascii_digit())?
            }
            Some(_) => return None,
            None => target.trim_start_matches([' ', '\t']).strip_prefix("/dev/null")?,
        };
        if !end(after) {
            return None;
        }
        // Digits right before it say which output, and are no argument.
        if let Some((written, bare)) = self.word.take()
            && self
                .now
                .written
                .get(written..)
                .is_some_and(|word| word.chars().all(|char| char.is_ascii_digit()))
        {
            self.now.written.truncate(written);
            self.now.bare.truncate(bare);
            self.now.written.truncate(self.now.written.trim_end().len());
            self.now.bare.truncate(self.now.bare.trim_end().len());
        }
        let next = self.line.len() - after.len();
        while self.chars.next_if(|(at, _)| *at < next).is_some() {}
        Some(())
    }

    fn end(&mut self) -> Option<()> {
        self.word = None;
        let now = std::mem::take(&mut self.now);
        if now.written.is_empty() {
            return Some(());
        }
        let first = now.written.split(' ').next()?;
        if RESERVED.contains(&first) {
            return None;
        }
        self.done.push(now);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let simple = simple_commands(line).unwrap_or_else(|| panic!("{line:?} is uncertain"));
        let written: Vec<&str> = simple.iter().map(|simple| simple.written.as_str()).collect();
        assert_eq!(written, expected);
    }

    #[test]
    fn a_line_is_taken_apart() {
        check("git  status", &["git status"]);
        check("a && b || c; d | e & f\ng |& h", &["a", "b", "c", "d", "e", "f", "g", "h"]);
        check("echo 'a; b' \"c && d\" e\\;f", &["echo 'a; b' \"c && d\" e\\;f"]);
        check("echo a'b'\"c\"d", &["echo a'b'\"c\"d"]);
        check("grep -n 'x$' f", &["grep -n 'x$' f"]);
        check("ls *.rs ~ a#b", &["ls *.rs ~ a#b"]);
    }

    #[test]
    fn redirections_that_change_nothing_are_left_out() {
        check("cargo test 2>&1 | tail -5", &["cargo test", "tail -5"]);
        check(
            "a >/dev/null 2>&1; b &>/dev/null; c </dev/null; d 2> /dev/null",
            &["a", "b", "c", "d"],
        );
        check("echo x2>/dev/null", &["echo x2"]);
    }

    #[test]
    fn what_could_do_more_is_uncertain() {
        for line in [
            "echo $(rm x)",
            "echo `rm x`",
            "echo \"$(rm x)\"",
            "echo \"`rm x`\"",
            "cat <(rm x)",
            "(rm x)",
            "{ rm x; }",
            "echo $HOME",
            "echo x > f",
            "echo x >> f",
            "cat < f",
            "cat << E\nrm x\nE",
            "a 2>&f",
            "a > /dev/null/x",
            "a >/dev/nullx",
            "a &> f",
            "echo # '\nrm x\n# '",
            "echo 'open",
            "echo \"open",
            "echo x\\",
            "a \\\n b",
            "if a; then b; fi",
            "a; if b; then c; fi",
            "! a",
            "f() { rm x; }",
            "echo $'a'",
            "a\rb",
            "a\u{1b}b",
            "echo 'a\u{1b}b'",
            "a <&3",
            "for x in a; do b; done",
        ] {
            assert_eq!(simple_commands(line), None, "{line:?}");
        }
    }

    #[test]
    fn the_bare_form_is_what_runs() {
        let bare = |line| simple_commands(line).unwrap()[0].bare.clone();
        assert_eq!(bare("'rm' -rf x"), "rm -rf x");
        assert_eq!(bare("r\\m \"-rf\" x"), "rm -rf x");
        assert_eq!(bare("r''m x"), "rm x");
        assert_eq!(bare(r#"echo "a\"b\\c\d""#), r#"echo a"b\c\d"#);
    }

    #[test]
    fn possible_commands_are_not_missed() {
        for line in
            ["echo $(rm x)", "sudo rm x", "echo \"`rm x`\"", "if a; then rm x; fi", "a\\\nrm x"]
        {
            assert!(possible_commands(line).any(|part| part.starts_with("rm x")), "{line:?}");
        }
    }
}
