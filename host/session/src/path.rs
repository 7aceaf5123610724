//! Where a log lies: `<root>/<project>/<session>/session.jsonl[.zstd]` (contracts §1.5).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::{Header, SessionId};

/// The project directory of sessions without a working directory.
pub(crate) const NO_CWD: &str = "_no-cwd";

/// A directory name holds at most 255 bytes, four of which are the dashes around it.
const SLUG_LIMIT: usize = 251;

/// How a log's bytes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// `session.jsonl.zstd`: a Zstandard frame for the header, then one for each batch.
    Zstd,
    /// `session.jsonl`: lines of JSON.
    Raw,
}

impl Encoding {
    /// The name of a log in its session's directory.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Zstd => "session.jsonl.zstd",
            Self::Raw => "session.jsonl",
        }
    }
}

/// The directory name of session `id`; none for the empty id, which no directory can hold.
///
/// `A-Z a-z 0-9 . _ -` stay, every other UTF-16 unit becomes `~` and four upper-case hexadecimal digits, and so do
/// the dots of the names `.` and `..`.
pub fn encode_segment(id: &SessionId) -> Option<String> {
    let units = id.units();
    match units.as_slice() {
        [] => None,
        [0x2e] => Some("~002E".into()),
        [0x2e, 0x2e] => Some("~002E~002E".into()),
        units => {
            let mut name = String::with_capacity(units.len());
            units.iter().for_each(|unit| push_unit(&mut name, *unit));
            Some(name)
        }
    }
}

/// The session whose directory has this name; none where [`encode_segment`] never writes it.
pub fn decode_segment(name: &str) -> Option<SessionId> {
    let mut units = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first != b'~' {
            units.push(u16::from(*first));
            rest = tail;
            continue;
        }
        let (digits, tail) = tail.split_at_checked(4)?;
        units.push(u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = tail;
    }
    let id = SessionId::from_units(&units);
    (encode_segment(&id)? == name).then_some(id)
}

/// The project directory of sessions in `cwd`. Lossy: different directories may share one.
pub fn project_key(cwd: &str) -> String {
    let mut slug = String::with_capacity(cwd.len());
    let mut after_separator = false;
    for unit in cwd.encode_utf16() {
        let separator = matches!(char::from_u32(unit.into()), Some('/' | '\\' | ':'));
        match (separator, after_separator) {
            (true, true) => {}
            (true, false) => slug.push('-'),
            (false, _) => push_unit(&mut slug, unit),
        }
        after_separator = separator;
    }
    let slug = match slug.trim_start_matches('-') {
        "" => "root",
        slug => slug,
    };
    // A slug is ASCII, so every byte ends a character.
    format!("--{}--", slug.get(..SLUG_LIMIT).unwrap_or(slug))
}

/// The directory of the session that `header` tells of; none for an empty id or cwd, which have none.
pub(crate) fn session_dir(root: &Path, header: &Header) -> Option<PathBuf> {
    let project = match header.cwd.as_deref() {
        None => NO_CWD.to_owned(),
        Some("") => return None,
        Some(cwd) => project_key(cwd),
    };
    Some(root.join(project).join(encode_segment(&header.id)?))
}

/// The log of the session that `header` tells of; none for an empty id or cwd.
pub fn log_path(root: &Path, header: &Header, encoding: Encoding) -> Option<PathBuf> {
    Some(session_dir(root, header)?.join(encoding.file_name()))
}

fn push_unit(name: &mut String, unit: u16) {
    match u8::try_from(unit) {
        Ok(byte @ (b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-')) => {
            name.push(byte.into());
        }
        _ => write!(name, "~{unit:04X}").expect("a string takes every write"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn segment(id: &SessionId, name: &str) {
        assert_eq!(encode_segment(id).unwrap(), name);
        assert_eq!(decode_segment(name).unwrap(), *id);
    }

    #[test]
    fn a_session_names_its_directory_and_the_other_way_round() {
        for (id, name) in [
            ("abc", "abc"),
            ("a/b", "a~002Fb"),
            (".", "~002E"),
            ("..", "~002E~002E"),
            ("...", "..."),
            ("~", "~007E"),
            ("a b", "a~0020b"),
            ("é", "~00E9"),
            ("😀", "~D83D~DE00"),
            ("a:b", "a~003Ab"),
            ("A_B.c-d", "A_B.c-d"),
            ("%2F", "~00252F"),
            ("-x", "-x"),
        ] {
            segment(&SessionId::new(id), name);
        }
        segment(&SessionId::from_units(&[0xd800]), "~D800");
    }

    #[test]
    fn another_spelling_names_no_session() {
        for name in
            ["", ".", "..", "a~002fb", "~0041", "~+041", "~", "~00", "é", "a b", "~002E~002Ea"]
        {
            assert_eq!(decode_segment(name), None, "{name:?}");
        }
        assert_eq!(encode_segment(&SessionId::new("")), None);
    }

    #[test]
    fn a_directory_names_its_project() {
        for (cwd, key) in [
            ("/", "--root--"),
            ("/home/u/My Project", "--home-u-My~0020Project--"),
            ("C:\\work\\app", "--C-work-app--"),
            ("/a//b", "--a-b--"),
            ("/tmp/x~y", "--tmp-x~007Ey--"),
            ("/tmp/é", "--tmp-~00E9--"),
            ("/a:b/c", "--a-b-c--"),
        ] {
            assert_eq!(project_key(cwd), key);
        }
        assert_eq!(project_key(&"/x".repeat(150)).len(), 255);
    }

    #[test]
    fn the_header_gives_the_path() {
        let mut header = Header::new(SessionId::new("a/b"), 0, Some("/home/u/p".into()));
        let path = |header: &Header, encoding| log_path(Path::new("/r"), header, encoding);
        assert_eq!(
            path(&header, Encoding::Raw).unwrap(),
            Path::new("/r/--home-u-p--/a~002Fb/session.jsonl")
        );
        header.cwd = None;
        header.id = SessionId::new("..");
        assert_eq!(
            path(&header, Encoding::Zstd).unwrap(),
            Path::new("/r/_no-cwd/~002E~002E/session.jsonl.zstd")
        );
        header.cwd = Some(String::new());
        assert_eq!(path(&header, Encoding::Raw), None);
    }
}
