//! A model behind a URL: where it is, what it is called, and what it takes to be let in.

use std::time::Duration;

use dsh_agent::RetryPolicy;
use thiserror::Error;
use url::Url;

use crate::{Dialect, Provider, Secret};

/// A model that speaks OpenAI's chat completions, as settings describe it.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// What logs call the service; not empty.
    pub provider: String,
    /// Where the service is: its own root, the folder above `chat/completions`, or the whole of that. The query stays.
    pub base_url: String,
    /// The model, in the service's own word; not empty.
    pub model: String,
    /// Sent as `Authorization: Bearer`; none sends no such header.
    pub key: Option<Secret>,
    /// Further headers of each request; one of the same name takes the place of ours.
    pub headers: Vec<(String, Secret)>,
    /// The header that tells the session's id, for gateways that route by it; what is not visible ASCII is
    /// percent-encoded. None tells it nobody.
    pub session_header: Option<String>,
    /// How the service wants to be asked.
    pub dialect: Dialect,
    /// How many tokens fit, where that is known.
    pub context_window: Option<u64>,
    /// Most tokens of a reply where nobody chose; none leaves it to the service.
    pub max_tokens: Option<u64>,
    /// How hard the model thinks where nobody chose; none leaves it to the service.
    pub reasoning_effort: Option<String>,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// When a request that failed is sent again.
    pub retry: RetryPolicy,
    /// Whether requests to other machines go through the proxy that the system or the environment names.
    pub system_proxy: bool,
}

/// How long to wait for what. Each attempt has clocks of its own, and whatever arrives, a comment too, is activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until a connection stands.
    pub connect: Duration,
    /// Until the answer begins. Local servers may load a model first.
    pub first_byte: Duration,
    /// Between two pieces of the answer.
    pub idle: Duration,
}

impl Default for Timeouts {
    /// 20 s to connect; 300 s of silence, as in the real client (contracts §11.5).
    fn default() -> Self {
        let silence = Duration::from_secs(300);
        Self { connect: Duration::from_secs(20), first_byte: silence, idle: silence }
    }
}

/// What is wrong with an endpoint.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// It is no URL that a request can go to.
    #[error("the base URL {url:?} cannot be used: {why}")]
    Url {
        /// As it was given; hidden where it may hold a password.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// It has no name for the model or the service.
    #[error("the {0} has no name")]
    Unnamed(&'static str),
    /// It holds what no header can.
    #[error("the key cannot be sent: it holds a space, a line break or a character outside ASCII")]
    Key,
    /// Its name or value is no header's.
    #[error("the header {name:?} cannot be sent")]
    Header {
        /// Its name.
        name: String,
    },
    /// The machine's certificates or its proxy cannot be used.
    #[error("no connection can be made from here: {0}")]
    Client(String),
}

impl Endpoint {
    /// The model `model` of the service at `base_url`, without a key. A service that the URL tells is known as what it
    /// is; any other one is called by its host and asked as most are.
    ///
    /// # Errors
    /// When the URL cannot be used.
    pub fn new(base_url: &str, model: &str) -> Result<Self, EndpointError> {
        let url = parse(base_url)?;
        let known = Provider::at(&url);
        let named = known.map(|known| known.id.to_owned()).unwrap_or_else(|| host(&url));
        let endpoint = Self {
            provider: named,
            base_url: base_url.to_owned(),
            model: model.to_owned(),
            key: None,
            headers: Vec::new(),
            session_header: None,
            dialect: Dialect::PLAIN,
            context_window: None,
            max_tokens: None,
            reasoning_effort: None,
            timeouts: Timeouts::default(),
            retry: RetryPolicy::STANDARD,
            system_proxy: false,
        };
        Ok(match known {
            Some(known) => Self { base_url: base_url.to_owned(), ..endpoint.of(known) },
            None => endpoint,
        })
    }

    /// The model `model` of a service that is known by name, without a key.
    ///
    /// # Errors
    /// Never: the URLs of known services can be used.
    pub fn known(provider: &'static Provider, model: &str) -> Result<Self, EndpointError> {
        Ok(Self::new(provider.base_url, model)?.of(provider))
    }

    /// The service whose domain the URL is in, and the variable that its key is usually in; none where the way there is
    /// not encrypted, or where the service needs no key. Such a key was meant for nobody else.
    pub fn usual_key(&self) -> Option<(&'static str, &'static str)> {
        let url = parse(&self.base_url).ok().filter(|url| url.scheme() == "https")?;
        let known = Provider::at(&url)?;
        Some((known.name, known.key_variable?))
    }

    /// The same endpoint, asked as this service wants to be asked; for a gateway in front of it.
    #[must_use]
    pub fn of(self, provider: &'static Provider) -> Self {
        Self {
            provider: provider.id.to_owned(),
            dialect: provider.dialect,
            context_window: provider.room.map(|room| room.context_window),
            max_tokens: provider.room.map(|room| room.max_tokens),
            ..self
        }
    }
}

/// The URLs of a service.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    /// Where requests go.
    pub(crate) chat: Url,
    /// Where its models are listed.
    pub(crate) models: Url,
    /// What people are told: host and port, nothing that could be secret.
    pub(crate) shown: String,
    /// Whether it is on this machine.
    pub(crate) here: bool,
}

/// The path of the service's requests, below its base.
const CHAT: &str = "/chat/completions";

impl Service {
    pub(crate) fn at(base_url: &str) -> Result<Self, EndpointError> {
        let mut base = parse(base_url)?;
        base.set_fragment(None);
        let path = base.path().trim_end_matches('/').to_owned();
        let path = match path.strip_suffix(CHAT) {
            Some(above) => above.to_owned(),
            // A bare host: the version that every service has.
            None if path.is_empty() => "/v1".to_owned(),
            None => path,
        };
        let below = |rest: &str| {
            let mut url = base.clone();
            url.set_path(&format!("{path}{rest}"));
            url
        };
        let here = match base.host() {
            Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        Ok(Self { chat: below(CHAT), models: below("/models"), shown: host(&base), here })
    }
}

fn parse(base_url: &str) -> Result<Url, EndpointError> {
    let wrong = |why: &str| EndpointError::Url {
        url: if base_url.contains('@') { "<hidden>".into() } else { base_url.to_owned() },
        why: why.to_owned(),
    };
    let url = Url::parse(base_url.trim()).map_err(|error| match error {
        url::ParseError::RelativeUrlWithoutBase => wrong("it has no `https://` before it"),
        error => wrong(&error.to_string()),
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("it must begin with `https://` or `http://`"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("it holds a password; give the key by itself"));
    }
    Ok(url)
}

/// Host and port, as people write them.
fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(base: &str, chat: &str, models: &str) {
        let service = Service::at(base).unwrap();
        assert_eq!((service.chat.as_str(), service.models.as_str()), (chat, models));
    }

    #[test]
    fn every_way_to_write_a_base_url_leads_to_the_same_place() {
        for base in
            ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1//", " http://h:1/v1/ "]
        {
            check(base, "http://h:1/v1/chat/completions", "http://h:1/v1/models");
        }
        check("http://h/v1/chat/completions", "http://h/v1/chat/completions", "http://h/v1/models");
        check(
            "http://h/v1/chat/completions/",
            "http://h/v1/chat/completions",
            "http://h/v1/models",
        );
        check("https://h/api/v4", "https://h/api/v4/chat/completions", "https://h/api/v4/models");
        check("http://h/#x", "http://h/v1/chat/completions", "http://h/v1/models");
    }

    #[test]
    fn a_query_stays() {
        let base = "https://h/openai/deployments/d/?api-version=2";
        let at = "https://h/openai/deployments/d";
        check(
            base,
            &format!("{at}/chat/completions?api-version=2"),
            &format!("{at}/models?api-version=2"),
        );
        assert_eq!(Service::at(base).unwrap().shown, "h");
    }

    #[test]
    fn what_cannot_be_used_is_said_without_a_password() {
        let wrong = |base: &str| Service::at(base).unwrap_err().to_string();
        assert_eq!(
            wrong("api.example.com/v1"),
            r#"the base URL "api.example.com/v1" cannot be used: it has no `https://` before it"#
        );
        assert!(wrong("localhost:11434").contains("must begin with `https://`"));
        assert!(wrong("ftp://h").contains("must begin with"));
        assert!(wrong("").contains("no `https://`"));
        let said = wrong("https://me:sesame@h/v1");
        assert!(said.contains("password") && !said.contains("sesame"), "{said}");
    }

    #[test]
    fn the_url_of_a_known_service_is_enough_to_know_it() {
        let endpoint = Endpoint::new("https://api.deepseek.com", "deepseek-v4-flash").unwrap();
        assert_eq!(endpoint.provider, "deepseek-official");
        assert_eq!(endpoint.context_window, Some(1_000_000));
        let endpoint = Endpoint::new("http://localhost:11434", "llama").unwrap();
        assert_eq!(
            (endpoint.provider.as_str(), endpoint.dialect),
            ("localhost:11434", Dialect::PLAIN)
        );
    }

    #[test]
    fn a_usual_key_goes_to_its_own_service_alone() {
        let usual = |url: &str| Endpoint::new(url, "m").unwrap().usual_key();
        assert_eq!(usual("https://api.openai.com/v1"), Some(("openai", "OPENAI_API_KEY")));
        assert_eq!(usual("http://api.openai.com/v1"), None);
        assert_eq!(usual("https://openai.example/v1"), None);
        let gateway = Endpoint::new("https://gateway.example", "m").unwrap();
        assert_eq!(gateway.of(Provider::named("openai").unwrap()).usual_key(), None);
    }

    #[test]
    fn nothing_secret_is_in_its_debug_text() {
        let mut endpoint = Endpoint::new("http://h", "m").unwrap();
        endpoint.key = Some(Secret::new("sk-secret"));
        endpoint.headers = vec![("api-key".into(), Secret::new("other-secret"))];
        let text = format!("{endpoint:?}");
        assert!(!text.contains("sk-secret") && !text.contains("other-secret"), "{text}");
    }

    #[test]
    fn only_this_machine_is_here() {
        for here in ["http://localhost:1", "http://127.0.0.9", "http://[::1]:8"] {
            assert!(Service::at(here).unwrap().here, "{here}");
        }
        for there in ["http://localhost.example", "http://10.0.0.1", "https://h"] {
            assert!(!Service::at(there).unwrap().here, "{there}");
        }
    }
}
