//! What every request of a stretch of turns has in common: `request/header` and `request/context`.

use serde::{Deserialize, Serialize};

use dsh_session::{Draft, Event, Json, Object};

use crate::{Composition, LogError, Route, ToolSpec, lifecycle};

/// Configuration, system prompt and tools of a request (contracts §6.4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestHeader {
    /// Where it goes and with which limits.
    pub config: Config,
    /// What of the configuration the adapter filled in.
    #[serde(default, skip_serializing_if = "AdapterDefaults::is_empty")]
    pub adapter_defaults: AdapterDefaults,
    /// The system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The tools, sorted by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
}

/// Where a request goes and with which limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Config {
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Most tokens that the reply may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// How hard the model shall think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
}

/// What of a configuration the adapter filled in, so that another adapter may fill in its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AdapterDefaults {
    /// The effort.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reasoning_effort: bool,
    /// The output limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub max_tokens: bool,
}

impl AdapterDefaults {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The headers of a log: the latest ones, and what the next request must add.
#[derive(Clone, Debug, Default)]
pub(crate) struct Headers {
    latest: Option<RequestHeader>,
    /// The `request/context` in force.
    context: Option<Context>,
    /// Whether the log holds a header, readable or not.
    any: bool,
    /// Whether this loop has logged one already.
    own: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Context {
    provider: String,
    model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context_window: Option<u64>,
}

impl Headers {
    /// Takes an event of the log that was found; other types change nothing.
    ///
    /// A header that cannot be read counts as one that differs from every other.
    pub(crate) fn found(&mut self, event: &Event) {
        match &*event.kind {
            "request/header" => {
                self.any = true;
                self.latest = event.data.object().ok().and_then(|data| header(&data));
            }
            "request/context" => self.context = event.data.read().ok(),
            _ => {}
        }
    }

    /// Takes an event that this loop has logged.
    pub(crate) fn logged(&mut self, event: &Event) {
        self.own |= &*event.kind == "request/header";
        self.found(event);
    }

    /// The latest header of the log.
    pub(crate) fn latest(&self) -> Option<&RequestHeader> {
        self.latest.as_ref()
    }

    /// The header that the next request of `composition` has.
    pub(crate) fn next(&self, composition: &Composition) -> RequestHeader {
        let route = composition.model.route();
        let effort = composition.reasoning_effort.clone().or_else(|| self.kept_effort(&route));
        let adapter_defaults = AdapterDefaults {
            reasoning_effort: effort.is_none() && route.reasoning_effort.is_some(),
            max_tokens: composition.max_tokens.is_none() && route.max_tokens.is_some(),
        };
        let mut tools: Vec<ToolSpec> =
            composition.tools.iter().map(|tool| tool.spec().clone()).collect();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        tools.dedup_by(|later, first| later.name == first.name);
        RequestHeader {
            config: Config {
                provider: route.provider,
                model: route.model,
                max_tokens: composition.max_tokens.or(route.max_tokens),
                reasoning_effort: effort.or(route.reasoning_effort),
            },
            adapter_defaults,
            system: composition.system.clone().filter(|system| !system.is_empty()),
            tools,
        }
    }

    /// What must be logged before a request with `header` over `route`, in order.
    pub(crate) fn drafts(
        &self,
        header: &RequestHeader,
        route: &Route,
    ) -> Result<Vec<Draft>, LogError> {
        #[derive(Serialize)]
        struct Data<'a> {
            header: &'a RequestHeader,
            reason: &'static str,
        }
        let reason = match (self.own, self.any) {
            (false, false) => Some("initial"),
            (false, true) => Some("resume"),
            (true, _) => (self.latest.as_ref() != Some(header)).then_some("change"),
        };
        let mut drafts = Vec::new();
        if let Some(reason) = reason {
            drafts.push(lifecycle::draft("request/header", &Data { header, reason })?);
        }
        let context = Context {
            provider: route.provider.clone(),
            model: route.model.clone(),
            context_window: route.context_window,
        };
        if self.context.as_ref() != Some(&context) {
            drafts.push(lifecycle::draft("request/context", &context)?);
        }
        Ok(drafts)
    }

    /// The effort that somebody chose for the same route earlier in this session.
    fn kept_effort(&self, route: &Route) -> Option<String> {
        let latest = self.latest.as_ref()?;
        let same = latest.config.provider == route.provider && latest.config.model == route.model;
        let chosen = same && !latest.adapter_defaults.reasoning_effort;
        chosen.then(|| latest.config.reasoning_effort.clone()).flatten()
    }
}

fn header(data: &Object<'_>) -> Option<RequestHeader> {
    Json::from(data.get("header")?).read().ok()
}
