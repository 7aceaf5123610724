//! The first line of a log: what never changes about a session.

use std::path::Path;

use thiserror::Error;

use crate::number::safe_count;
use crate::{Json, Object, Raw, SessionId};

/// The members that this version knows.
const KNOWN: [&str; 10] = [
    "type",
    "version",
    "id",
    "createdAt",
    "cwd",
    "parentSession",
    "seedLength",
    "origin",
    "delegationDepth",
    "agentPreset",
];

/// A session's immutable facts (contracts §1.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Who it is.
    pub id: SessionId,
    /// Milliseconds since the Unix epoch.
    pub created_at: u64,
    /// Absolute working directory.
    pub cwd: Option<String>,
    /// The session it was forked or delegated from.
    pub parent: Option<SessionId>,
    /// How many leading events were inherited by seeding.
    pub seed_length: Option<u64>,
    /// Whether a subagent runs it (`origin: "subagent"`); a navigation hint only.
    pub subagent: bool,
    /// How deep it lies in a tree of delegations.
    pub delegation_depth: u64,
    /// The composition that its agent was created with.
    pub agent_preset: Option<String>,
    /// Members that this version does not know, kept for whoever asks.
    pub extra: Option<Json>,
}

/// Why a line is no header that this version can work with.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderError {
    /// The line is not a JSON object.
    #[error("the first line is not a JSON object")]
    NotAnObject,
    /// Another version of the format; only `0` exists.
    #[error(
        "the log has format version {0}, which {age} harness writes; this one reads version 0",
        age = if .0.starts_with('-') { "an older" } else { "a newer" }
    )]
    Version(String),
    /// Members of a format that was given up before version 0 was final.
    #[error("the header holds the retired member `{0}`")]
    Retired(&'static str),
    /// A member is missing or has another shape.
    #[error("the header's `{member}` is not {wanted}")]
    Shape {
        /// Which one.
        member: &'static str,
        /// What it must be.
        wanted: &'static str,
    },
}

impl Header {
    /// A session of its own, without lineage.
    pub fn new(id: SessionId, created_at: u64, cwd: Option<String>) -> Self {
        Self {
            id,
            created_at,
            cwd,
            parent: None,
            seed_length: None,
            subagent: false,
            delegation_depth: 0,
            agent_preset: None,
            extra: None,
        }
    }

    /// Reads a log's first line.
    ///
    /// # Errors
    /// When the line is no header, or one of another version: the version is told first, so that a log of the future
    /// reads as newer and not as damaged.
    pub fn parse(line: &str) -> Result<Self, HeaderError> {
        let header: Object<'_> =
            serde_json::from_str(line).map_err(|_| HeaderError::NotAnObject)?;
        let version = header.get("version").map(Raw::get);
        match version.and_then(|text| Some((text, text.parse::<f64>().ok()?))) {
            Some((_, 0.0)) => {}
            Some((text, _)) => return Err(HeaderError::Version(text.into())),
            None => return Err(shape("version", "a number")),
        }
        if header.text("type").as_deref() != Some("session") {
            return Err(shape("type", "`session`"));
        }
        for retired in ["sandboxMode", "approvalPolicy"] {
            if header.get(retired).is_some() {
                return Err(HeaderError::Retired(retired));
            }
        }
        let parsed = Self {
            id: id(&header, "id")?.ok_or(shape("id", "a string"))?,
            created_at: count(&header, "createdAt")?.ok_or(shape("createdAt", A_COUNT))?,
            cwd: string(&header, "cwd")?,
            parent: id(&header, "parentSession")?,
            seed_length: count(&header, "seedLength")?,
            subagent: match string(&header, "origin")?.as_deref() {
                None => false,
                Some("subagent") => true,
                Some(_) => return Err(shape("origin", "`subagent`")),
            },
            delegation_depth: count(&header, "delegationDepth")?
                .ok_or(shape("delegationDepth", A_COUNT))?,
            agent_preset: string(&header, "agentPreset")?,
            extra: header.without(&KNOWN),
        };
        parsed.check()?;
        Ok(parsed)
    }

    /// What no header may hold, whether it is read or about to be written.
    pub(crate) fn check(&self) -> Result<(), HeaderError> {
        match &self.cwd {
            Some(cwd) if !Path::new(cwd).is_absolute() => Err(shape("cwd", "an absolute path")),
            _ => Ok(()),
        }
    }

    /// The first line of a log, without its newline; members in the order that dsh writes.
    pub fn line(&self) -> String {
        let mut line = format!(
            r#"{{"type":"session","version":0,"id":"{}","createdAt":{}"#,
            self.id.escaped(),
            self.created_at
        );
        if let Some(cwd) = &self.cwd {
            member(&mut line, "cwd", &quoted(cwd));
        }
        if let Some(parent) = &self.parent {
            member(&mut line, "parentSession", &format!("\"{}\"", parent.escaped()));
        }
        if let Some(length) = self.seed_length {
            member(&mut line, "seedLength", &length.to_string());
        }
        if self.subagent {
            member(&mut line, "origin", "\"subagent\"");
        }
        member(&mut line, "delegationDepth", &self.delegation_depth.to_string());
        if let Some(preset) = &self.agent_preset {
            member(&mut line, "agentPreset", &quoted(preset));
        }
        if let Some(extra) = self.extra.as_ref().and_then(|extra| extra.object().ok()) {
            for (name, value) in extra.iter().filter(|(name, _)| !KNOWN.contains(name)) {
                member(&mut line, name, value.get());
            }
        }
        line.push('}');
        line
    }

    /// Whether two headers can be of one session: what a log and its live session must agree on (contracts §4.2).
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.id == other.id
            && self.created_at == other.created_at
            && self.cwd == other.cwd
            && self.parent == other.parent
            && self.seed_length == other.seed_length
            && self.delegation_depth == other.delegation_depth
    }
}

const A_COUNT: &str = "a non-negative integer within 2^53 - 1";

fn shape(member: &'static str, wanted: &'static str) -> HeaderError {
    HeaderError::Shape { member, wanted }
}

fn optional<T>(
    header: &Object<'_>,
    name: &'static str,
    wanted: &'static str,
    read: impl FnOnce(Raw<'_>) -> Option<T>,
) -> Result<Option<T>, HeaderError> {
    header.get(name).map(|raw| read(raw).ok_or(shape(name, wanted))).transpose()
}

fn id(header: &Object<'_>, name: &'static str) -> Result<Option<SessionId>, HeaderError> {
    optional(header, name, "a string", |raw| serde_json::from_str(raw.get()).ok())
}

fn string(header: &Object<'_>, name: &'static str) -> Result<Option<String>, HeaderError> {
    optional(header, name, "a string", |_| header.read(name))
}

/// A count; of the numbers that name one, only `-0` is refused.
fn count(header: &Object<'_>, name: &'static str) -> Result<Option<u64>, HeaderError> {
    optional(header, name, A_COUNT, |raw| {
        safe_count(raw.get()).filter(|_| !raw.get().starts_with('-'))
    })
}

fn member(line: &mut String, name: &str, value: &str) {
    line.extend([",", &quoted(name), ":", value]);
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: &str = r#"{"type":"session","version":0,"id":"a\"\ud800","createdAt":5,"cwd":"/w","parentSession":"p","seedLength":3,"origin":"subagent","delegationDepth":2,"agentPreset":"x","later":[1.0]}"#;

    #[test]
    fn a_header_is_written_as_it_was_read() {
        let header = Header::parse(FULL).unwrap();
        assert_eq!(header.seed_length, Some(3));
        assert_eq!(header.extra.as_ref().unwrap().as_str(), r#"{"later":[1.0]}"#);
        assert_eq!(header.line(), FULL);
        let plain = Header::new(SessionId::new("s"), 7, None);
        assert_eq!(Header::parse(&plain.line()).unwrap(), plain);
    }

    #[track_caller]
    fn refused(line: &str, why: &str) {
        assert_eq!(Header::parse(line).unwrap_err().to_string(), why);
    }

    #[test]
    fn a_foreign_version_is_told_before_anything_else() {
        refused(
            r#"{"version":7}"#,
            "the log has format version 7, which a newer harness writes; this one reads version 0",
        );
        refused(
            r#"{"version":-1,"type":"session"}"#,
            "the log has format version -1, which an older harness writes; this one reads version 0",
        );
    }

    #[test]
    fn every_member_has_its_shape() {
        let with = |from: &str, to: &str| FULL.replace(from, to);
        refused("[]", "the first line is not a JSON object");
        refused(
            &with(r#""version":0"#, r#""version":"0""#),
            "the header's `version` is not a number",
        );
        refused(&with("\"session\"", "\"step/end\""), "the header's `type` is not `session`");
        refused(
            &with(r#""createdAt":5"#, r#""createdAt":5.5"#),
            &format!("the header's `createdAt` is not {A_COUNT}"),
        );
        refused(
            &with(r#""createdAt":5"#, r#""createdAt":-0"#),
            &format!("the header's `createdAt` is not {A_COUNT}"),
        );
        refused(
            &with(r#""delegationDepth":2"#, r#""delegationDepth":null"#),
            &format!("the header's `delegationDepth` is not {A_COUNT}"),
        );
        refused(
            &with(r#""seedLength":3"#, r#""seedLength":-3"#),
            &format!("the header's `seedLength` is not {A_COUNT}"),
        );
        refused(
            &with(r#""cwd":"/w""#, r#""cwd":"w""#),
            "the header's `cwd` is not an absolute path",
        );
        refused(
            &with(r#""parentSession":"p""#, r#""parentSession":4"#),
            "the header's `parentSession` is not a string",
        );
        refused(&with("\"subagent\"", "\"side\""), "the header's `origin` is not `subagent`");
        refused(
            &with("\"later\"", "\"sandboxMode\""),
            "the header holds the retired member `sandboxMode`",
        );
    }

    #[test]
    fn any_spelling_of_a_number_will_do() {
        let header = Header::parse(&FULL.replace(":5,", ":5.0,").replace(":0,", ":0e0,")).unwrap();
        assert_eq!(header.created_at, 5);
    }
}
