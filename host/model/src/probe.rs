//! Whether a model could be asked: is its service there, is the key good, does it know the model.

use dsh_agent::ModelFailure;
use serde_json::Value;
use tokio::time::{Duration, timeout};

use crate::{Chat, failure};

/// How long the service may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// The longest list of models that is read, in bytes.
const LONGEST: usize = 8 * 1024 * 1024;

/// What is known of a service after it was asked for its models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// It is there, and knows the model.
    Well,
    /// It is there, and does not know the model.
    UnknownModel {
        /// The models that it knows, as it lists them.
        known: Vec<String>,
    },
    /// It is there, and does not tell its models: only a turn can show whether it knows this one.
    Unlisted,
    /// It wants a key, and there is none.
    KeyMissing(ModelFailure),
    /// It does not accept the key.
    KeyRefused(ModelFailure),
    /// It cannot be reached.
    Unreachable(ModelFailure),
    /// It is there, and something else is wrong.
    Unwell(ModelFailure),
}

impl Chat {
    /// Asks the service for its models; no model answers anything, and nothing is billed.
    pub async fn probe(&self) -> Probe {
        let inner = self.inner();
        match self.listed().await {
            Ok(Some(known)) if knows(&known, &inner.endpoint.model) => Probe::Well,
            Ok(Some(known)) => Probe::UnknownModel { known },
            Ok(None) => Probe::Unlisted,
            Err(failure) => {
                let failure = inner.without_secrets(failure);
                match (failure.code.as_str(), failure.status) {
                    ("AUTH", _) if inner.endpoint.key.is_none() => Probe::KeyMissing(failure),
                    ("AUTH", _) => Probe::KeyRefused(failure),
                    (_, None) => Probe::Unreachable(failure),
                    (_, Some(404 | 405 | 501)) => Probe::Unlisted,
                    _ => Probe::Unwell(failure),
                }
            }
        }
    }

    /// The models that the service lists; none where its answer is no list.
    async fn listed(&self) -> Result<Option<Vec<String>>, ModelFailure> {
        let inner = self.inner();
        let host = &inner.service.shown;
        let asked = inner.client.get(inner.service.models.clone()).send();
        let answered = timeout(PATIENCE, async {
            let mut response = asked
                .await
                .map_err(|error| failure::transport(host, "cannot be reached", error))?;
            if !response.status().is_success() {
                return Err(inner.refused(response).await);
            }
            let mut body = Vec::new();
            while let Some(piece) = response
                .chunk()
                .await
                .map_err(|error| failure::transport(host, "broke off", error))?
            {
                body.extend_from_slice(&piece);
                if body.len() > LONGEST {
                    return Ok(None);
                }
            }
            Ok(names(&body))
        });
        answered.await.unwrap_or_else(|_| Err(inner.silent(PATIENCE)))
    }
}

fn names(body: &[u8]) -> Option<Vec<String>> {
    let list: Value = serde_json::from_slice(body).ok()?;
    let models = list.get("data")?.as_array()?;
    let name = |model: &Value| model.get("id").and_then(Value::as_str).map(str::to_owned);
    Some(models.iter().filter_map(name).collect())
}

/// Whether a list holds the model; one without a tag is the newest there, as Ollama has it.
fn knows(known: &[String], model: &str) -> bool {
    known.iter().any(|name| name == model || name.strip_suffix(":latest") == Some(model))
}
