//! Services that are known by name, and what is particular about each.

use url::{Host, Url};

/// A service that is known by name.
#[derive(Debug)]
pub struct Provider {
    /// What logs call it; for DeepSeek the name that dsh has for it, so that a session stays on its route.
    pub id: &'static str,
    /// What people call it.
    pub name: &'static str,
    /// Where it is.
    pub base_url: &'static str,
    /// The variable that its key is usually in; none where it needs no key.
    pub key_variable: Option<&'static str>,
    /// What its models read and write at most, in tokens, where all of them do.
    pub(crate) room: Option<Room>,
    /// How it wants to be asked.
    pub dialect: Dialect,
}

/// How much fits, in tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) context_window: u64,
    pub(crate) max_tokens: u64,
}

/// How a service wants to be asked, where services differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// The member that bounds the reply.
    pub max_tokens: &'static str,
    /// The member of a message that thinking goes back in.
    pub reasoning: &'static str,
    /// Whose thinking goes back.
    pub passback: Passback,
    /// Whether thinking is switched by `thinking`, as at DeepSeek, with these efforts beside `off`.
    pub thinking: Option<&'static [&'static str]>,
}

/// Whose thinking goes back to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passback {
    /// Everything that was thought, whoever thought it: the service refuses a reply that lacks its thinking.
    All,
    /// What this service thought itself: a service that never tells its thinking never gets any, and none gets what
    /// it cannot know.
    Own,
}

impl Dialect {
    /// What most services understand.
    pub const PLAIN: Self = Self {
        max_tokens: "max_tokens",
        reasoning: "reasoning_content",
        passback: Passback::Own,
        thinking: None,
    };
}

/// The services that are known by name.
pub const PROVIDERS: [Provider; 7] = [
    Provider {
        id: "deepseek-official",
        name: "deepseek",
        base_url: "https://api.deepseek.com/v1",
        key_variable: Some("DEEPSEEK_API_KEY"),
        // The real client's own defaults (contracts §11.5).
        room: Some(Room { context_window: 1_000_000, max_tokens: 256_000 }),
        dialect: Dialect {
            passback: Passback::All,
            thinking: Some(&["low", "high", "max"]),
            ..Dialect::PLAIN
        },
    },
    Provider {
        id: "openai",
        name: "openai",
        base_url: "https://api.openai.com/v1",
        key_variable: Some("OPENAI_API_KEY"),
        room: None,
        dialect: Dialect { max_tokens: "max_completion_tokens", ..Dialect::PLAIN },
    },
    Provider {
        id: "openrouter",
        name: "openrouter",
        base_url: "https://openrouter.ai/api/v1",
        key_variable: Some("OPENROUTER_API_KEY"),
        room: None,
        dialect: Dialect { reasoning: "reasoning", ..Dialect::PLAIN },
    },
    local("ollama", "http://127.0.0.1:11434/v1", "reasoning"),
    local("vllm", "http://127.0.0.1:8000/v1", "reasoning_content"),
    local("llamacpp", "http://127.0.0.1:8080/v1", "reasoning_content"),
    local("lmstudio", "http://127.0.0.1:1234/v1", "reasoning_content"),
];

/// A server on this machine.
const fn local(name: &'static str, base_url: &'static str, reasoning: &'static str) -> Provider {
    let dialect = Dialect { reasoning, ..Dialect::PLAIN };
    Provider { id: name, name, base_url, key_variable: None, room: None, dialect }
}

impl Provider {
    /// The service that people or logs call so, whatever the case.
    pub fn named(name: &str) -> Option<&'static Self> {
        let called = |known: &str| known.eq_ignore_ascii_case(name);
        PROVIDERS.iter().find(|provider| called(provider.name) || called(provider.id))
    }

    /// The service that this URL belongs to: of those with a domain of their own, by the domain.
    pub fn at(url: &Url) -> Option<&'static Self> {
        let Some(Host::Domain(host)) = url.host() else { return None };
        PROVIDERS.iter().find(|provider| {
            let base = Url::parse(provider.base_url);
            provider.key_variable.is_some() && base.is_ok_and(|base| base.host_str() == Some(host))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(url: &str) -> Option<&'static str> {
        Provider::at(&Url::parse(url).unwrap()).map(|provider| provider.id)
    }

    #[test]
    fn a_service_is_known_by_its_name_and_by_its_domain_alone() {
        assert_eq!(Provider::named("DeepSeek").map(|known| known.id), Some("deepseek-official"));
        assert_eq!(Provider::named("deepseek-official").map(|known| known.name), Some("deepseek"));
        assert!(Provider::named("").is_none());
        assert_eq!(at("https://API.OpenAI.com/v1/chat"), Some("openai"));
        assert_eq!(at("https://api.openai.com.evil.example/v1"), None);
        assert_eq!(at("http://127.0.0.1:11434/v1"), None);
    }

    #[test]
    fn names_are_unique() {
        for provider in &PROVIDERS {
            let named = Provider::named(provider.name).map(|found| found.id);
            assert_eq!(named, Some(provider.id));
        }
    }
}
