//! Values: read by the kind of their key, and shown without secrets.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::catalogue::Kind;

/// A value that fits its key.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A text that nobody is shown.
    Secret(Secret),
    /// `true` or `false`.
    Boolean(bool),
    /// A whole number.
    Integer(u64),
    /// A number.
    Ratio(f64),
    /// A path, from the root of the file system.
    Path(PathBuf),
    /// Texts in order.
    List(Vec<String>),
    /// Texts that nobody is shown, by name.
    Table(BTreeMap<String, Secret>),
}

/// A text that neither `Debug` nor a listing shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// From where relative paths go, and what `~` is.
#[derive(Clone, Copy, Debug)]
pub struct Base<'a> {
    /// The folder of the file; for variables and flags the current one.
    pub folder: &'a Path,
    /// The home folder.
    pub home: Option<&'a Path>,
}

/// Why a value does not fit.
pub(crate) struct Misfit {
    /// What it could be.
    pub expected: String,
    /// What it is.
    pub found: String,
}

impl Secret {
    /// Hides this text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the one place that needs it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(HIDDEN)
    }
}

const HIDDEN: &str = "(hidden)";

impl Kind {
    /// What a value of this kind can be, after "must be".
    #[must_use]
    pub fn expects(self) -> String {
        match self {
            Self::Text | Self::Secret => "a text that is not empty".to_owned(),
            Self::Url => {
                "a URL that begins with http:// or https:// and holds no user or password"
                    .to_owned()
            }
            Self::Path => "a path".to_owned(),
            Self::Choice(choices) => {
                let choices: Vec<_> = choices.iter().map(|choice| format!("{choice:?}")).collect();
                choices.join(" or ")
            }
            Self::Boolean => "true or false".to_owned(),
            Self::Integer(least, most) => format!("a whole number from {least} to {most}"),
            Self::Ratio(least, most) => format!("a number from {least} to {most}"),
            Self::Command => {
                "a list of texts, the program and its arguments, such as [\"pass\", \"show\", \"key\"]"
                    .to_owned()
            }
            Self::List => "a list of texts".to_owned(),
            Self::Paths => "a list of paths".to_owned(),
            Self::Rules => "a list of rules".to_owned(),
            Self::Table => "a table of texts".to_owned(),
        }
    }

    /// Reads what a file holds.
    pub(crate) fn read(self, value: &DeValue<'_>, base: Base<'_>) -> Result<Value, Misfit> {
        let read = match self {
            Self::Text | Self::Secret | Self::Url | Self::Path | Self::Choice(_) => {
                value.as_str().and_then(|text| self.of_text(text, base))
            }
            Self::Boolean => value.as_bool().map(Value::Boolean),
            Self::Integer(least, most) => value
                .as_integer()
                .and_then(|found| u64::from_str_radix(found.as_str(), found.radix()).ok())
                .filter(|found| (least..=most).contains(found))
                .map(Value::Integer),
            Self::Ratio(least, most) => {
                let integer = value.as_integer().map(|found| found.as_str());
                let text = value.as_float().map(|found| found.as_str()).or(integer);
                text.and_then(|text| ratio(text, least, most))
            }
            Self::Command => value
                .as_array()
                .and_then(texts)
                .and_then(|words| base.command(words))
                .map(Value::List),
            Self::Paths => value
                .as_array()
                .and_then(texts)
                .and_then(|paths| paths.iter().map(|path| base.text(path)).collect())
                .map(Value::List),
            Self::List | Self::Rules => value.as_array().and_then(texts).map(Value::List),
            Self::Table => value.as_table().and_then(table).map(Value::Table),
        };
        read.ok_or_else(|| Misfit { expected: self.expects(), found: self.found(value) })
    }

    /// Reads what a variable or a flag holds: a text as it is, lists and tables as TOML.
    pub(crate) fn read_text(self, text: &str, base: Base<'_>) -> Result<Value, Misfit> {
        let misfit = || Misfit { expected: self.expects(), found: self.say(text) };
        match self {
            Self::Text | Self::Secret | Self::Url | Self::Path | Self::Choice(_) => {
                self.of_text(text, base).ok_or_else(misfit)
            }
            _ => {
                let value = DeValue::parse(text.trim()).map_err(|_| misfit())?;
                self.read(value.get_ref(), base)
            }
        }
    }

    fn of_text(self, text: &str, base: Base<'_>) -> Option<Value> {
        if text.is_empty() || text.contains('\0') {
            return None;
        }
        match self {
            Self::Secret => Some(Value::Secret(Secret::new(text))),
            Self::Path => Some(Value::Path(base.join(text)?)),
            Self::Url => is_url(text).then(|| Value::Text(text.to_owned())),
            Self::Choice(choices) => choices.contains(&text).then(|| Value::Text(text.to_owned())),
            _ => Some(Value::Text(text.to_owned())),
        }
    }

    fn found(self, value: &DeValue<'_>) -> String {
        match value {
            DeValue::String(text) => self.say(text),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(truth) => truth.to_string(),
            DeValue::Array(_) => "this list".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
            DeValue::Datetime(_) => "a date".to_owned(),
        }
    }

    /// A text as an error says it: what may be a secret is not repeated.
    fn say(self, text: &str) -> String {
        match self {
            Self::Secret | Self::Table | Self::Url if !text.is_empty() => "this text".to_owned(),
            _ => format!("{text:?}"),
        }
    }
}

impl Base<'_> {
    fn join(self, text: &str) -> Option<PathBuf> {
        match text.strip_prefix("~/") {
            Some(rest) => self.home.map(|home| home.join(rest)),
            None if text == "~" => self.home.map(Path::to_owned),
            None => Some(self.folder.join(text)),
        }
    }

    /// A command whose program is not looked for in whatever folder it is started in.
    fn command(self, mut words: Vec<String>) -> Option<Vec<String>> {
        let program = words.first_mut().filter(|program| !program.is_empty())?;
        if program.contains('/') {
            let plain = program.strip_prefix("./").unwrap_or(program);
            *program = self.text(plain)?;
        }
        Some(words)
    }

    /// A path as a text; none where it is empty, or leads through a folder whose name is no UTF-8.
    fn text(self, path: &str) -> Option<String> {
        if path.is_empty() {
            return None;
        }
        Some(self.join(path)?.to_str()?.to_owned())
    }
}

impl Value {
    /// As a listing shows it: on one line, without secrets.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Text(text) => match text.split_once('?') {
                // A service's key may stand in the query of its URL.
                Some((before, _)) if text.contains("://") => format!("\"{before}?…\""),
                _ => format!("{text:?}"),
            },
            Self::Secret(_) => HIDDEN.to_owned(),
            Self::Table(table) => {
                let names: Vec<_> = table.keys().map(|name| format!("{name} = {HIDDEN}")).collect();
                format!("{{ {} }}", names.join(", "))
            }
            _ => self.whole(),
        }
    }

    /// Everything that it says, save a secret, as the person has to see it before trusting it.
    #[must_use]
    pub fn whole(&self) -> String {
        match self {
            Self::Text(text) => format!("{text:?}"),
            Self::Secret(_) => "(a text that is not shown)".to_owned(),
            Self::Boolean(truth) => truth.to_string(),
            Self::Integer(number) => number.to_string(),
            Self::Ratio(number) => number.to_string(),
            Self::Path(path) => format!("{path:?}"),
            Self::List(list) => format!("{list:?}"),
            Self::Table(table) => {
                let mut said = String::from("{");
                for (at, (name, text)) in table.iter().enumerate() {
                    let comma = if at == 0 { "" } else { "," };
                    let _ = write!(said, "{comma} {name} = {:?}", text.reveal());
                }
                said + " }"
            }
        }
    }

    /// The bytes that stand for it in a digest: no two values share them.
    pub(crate) fn digested(&self) -> String {
        match self {
            Self::Secret(secret) => format!("secret {:?}", secret.reveal()),
            _ => self.whole(),
        }
    }
}

fn texts(list: &DeArray<'_>) -> Option<Vec<String>> {
    let text = |item: &Spanned<DeValue<'_>>| {
        let text = item.get_ref().as_str()?;
        (!text.contains('\0')).then(|| text.to_owned())
    };
    list.iter().map(text).collect()
}

fn table(table: &DeTable<'_>) -> Option<BTreeMap<String, Secret>> {
    let pair = |(name, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let (name, text): (&std::borrow::Cow<'_, str>, &str) =
            (name.get_ref(), value.get_ref().as_str()?);
        let fits = !name.is_empty() && !name.contains(['\0', '=']) && !text.contains('\0');
        fits.then(|| (name.to_string(), Secret::new(text)))
    };
    table.iter().map(pair).collect()
}

fn ratio(text: &str, least: f64, most: f64) -> Option<Value> {
    let number: f64 = text.parse().ok()?;
    (least..=most).contains(&number).then_some(Value::Ratio(number))
}

fn is_url(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) else {
        return false;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let plain = |char: char| !char.is_whitespace() && !char.is_control();
    !host.is_empty() && !host.contains('@') && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> Base<'static> {
        Base { folder: Path::new("/etc"), home: Some(Path::new("/home/me")) }
    }

    fn read(kind: Kind, toml: &str) -> Result<Value, String> {
        let value = DeValue::parse(toml).expect("TOML");
        kind.read(value.get_ref(), base())
            .map_err(|Misfit { expected, found }| format!("{expected}, not {found}"))
    }

    fn text(said: &str) -> Value {
        Value::Text(said.to_owned())
    }

    #[test]
    fn each_kind_takes_what_it_says_and_nothing_else() {
        let url = Kind::Url;
        assert_eq!(read(url, "'https://h:1/v1?a=b'"), Ok(text("https://h:1/v1?a=b")));
        for wrong in ["'ftp://h'", "'https://'", "'https://me:pw@h/'", "'http://h/a b'", "7"] {
            let said = read(url, wrong).unwrap_err();
            assert!(said.starts_with("a URL") && !said.contains("pw"), "{said}");
        }
        let count = Kind::Integer(2, 20);
        assert_eq!(read(count, "0x10"), Ok(Value::Integer(16)));
        for wrong in ["1", "21", "-3", "2.0", "'2'", "99999999999999999999"] {
            assert!(read(count, wrong).unwrap_err().starts_with("a whole number from 2 to 20"));
        }
        let part = Kind::Ratio(0.1, 1.0);
        assert_eq!(read(part, "1"), Ok(Value::Ratio(1.0)));
        for wrong in ["0.05", "nan", "inf", "'0.5'"] {
            assert!(read(part, wrong).is_err(), "{wrong}");
        }
        assert_eq!(read(Kind::Choice(&["a", "b"]), "'b'"), Ok(text("b")));
        assert_eq!(
            read(Kind::Choice(&["a", "b"]), "'c'").unwrap_err(),
            "\"a\" or \"b\", not \"c\""
        );
        for wrong in ["'a'", "[]", "['']", "['a', 1]", "['a\\u0000']".replace('\'', "\"").as_str()]
        {
            assert!(read(Kind::Command, wrong).is_err(), "{wrong}");
        }
        assert!(read(Kind::Table, "{ a = 1 }").is_err() && read(Kind::Boolean, "'true'").is_err());
        assert!(read(Kind::Text, "''").is_err());
    }

    #[test]
    fn a_path_begins_at_its_file_or_at_home() {
        let path = |path: &str| Ok(Value::Path(path.into()));
        assert_eq!(read(Kind::Path, "'a/b'"), path("/etc/a/b"));
        assert_eq!(read(Kind::Path, "'/a'"), path("/a"));
        assert_eq!(read(Kind::Path, "'~/a'"), path("/home/me/a"));
        assert_eq!(read(Kind::Path, "'~'"), path("/home/me"));
        let words = |words: [&str; 2]| Ok(Value::List(words.map(str::to_owned).into()));
        assert_eq!(read(Kind::Command, "['./a', './b']"), words(["/etc/a", "./b"]));
        assert_eq!(read(Kind::Command, "['~/a', 'b']"), words(["/home/me/a", "b"]));
        assert_eq!(read(Kind::Paths, "['a', '~/b']"), words(["/etc/a", "/home/me/b"]));
        assert!(read(Kind::Paths, "['']").is_err());
        assert_eq!(read(Kind::Command, "['a', 'b']"), words(["a", "b"]), "found by the PATH");
    }

    #[test]
    fn a_secret_is_shown_by_nothing() {
        let secret = read(Kind::Secret, "'sk-1'").unwrap();
        let table = read(Kind::Table, "{ TOKEN = 'sk-1' }").unwrap();
        for said in [secret.shown(), secret.whole(), table.shown(), format!("{secret:?}{table:?}")]
        {
            assert!(!said.contains("sk-1"), "{said}");
        }
        assert!(table.whole().contains("TOKEN = \"sk-1\""), "whoever trusts it has to see it");
        assert!(!read(Kind::Secret, "['sk-1']").unwrap_err().contains("sk-1"));
        let url = read(Kind::Url, "'https://h/v1?key=sk-1'").unwrap();
        assert_eq!(url.shown(), "\"https://h/v1?…\"");
    }

    #[test]
    fn a_variable_holds_a_text_as_it_is_and_a_list_as_toml() {
        let read = |kind: Kind, text| kind.read_text(text, base()).ok();
        assert_eq!(read(Kind::Text, "[a"), Some(text("[a")));
        assert_eq!(
            read(Kind::Command, "[\"a\", 'b c']"),
            Some(Value::List(vec!["a".into(), "b c".into()]))
        );
        assert_eq!(read(Kind::Command, "a b"), None);
        assert_eq!(read(Kind::Integer(1, 9), " 7 "), Some(Value::Integer(7)));
        assert_eq!(read(Kind::Boolean, "false"), Some(Value::Boolean(false)));
    }
}
