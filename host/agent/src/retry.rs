//! Asking a model again after a failure that passes (contracts §11.5, retry).

use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};

use crate::ModelFailure;
use crate::lifecycle::Place;

/// The codes of failures that pass: the same request may be answered a moment later.
const PASSING: [&str; 5] = ["EMPTY_RESPONSE", "RATE_LIMIT", "SERVER", "TIMEOUT", "TRANSPORT"];

/// When a failed request is sent again; a model has its own.
///
/// Only failures that pass (`EMPTY_RESPONSE`, `RATE_LIMIT`, `SERVER`, `TIMEOUT`, `TRANSPORT`), and only as long as the
/// reply holds neither text nor a tool call: a person never reads a text twice, and nothing is done twice. Thinking
/// that was cut off is thought anew.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Most retries of one request; with 0 every failure ends the turn.
    pub retries: u32,
    /// The first wait; each further one is twice as long as the one before.
    pub first_wait: Duration,
    /// The longest of these waits.
    pub longest_wait: Duration,
    /// The longest wait that a provider may ask for instead; where it asks for a longer one, the turn ends.
    pub longest_asked: Duration,
    /// How far a wait of ours may lie from its length, as a part of it, so that clients do not come back all at once.
    pub jitter: f64,
}

impl RetryPolicy {
    /// Every failure ends the turn.
    pub const NEVER: Self = Self {
        retries: 0,
        first_wait: Duration::ZERO,
        longest_wait: Duration::ZERO,
        longest_asked: Duration::ZERO,
        jitter: 0.0,
    };

    /// The real client's: five retries, after half a second and up to ten, a tenth more or less. Where a provider asks
    /// for a longer wait, it gets up to a minute; the real client gives up after ten seconds.
    pub const STANDARD: Self = Self {
        retries: 5,
        first_wait: Duration::from_millis(500),
        longest_wait: Duration::from_secs(10),
        longest_asked: Duration::from_secs(60),
        jitter: 0.1,
    };

    /// How long to wait before this retry, from 1, after this failure; none where it ends the turn.
    ///
    /// `chance` is from 0 up to 1.
    pub(crate) fn wait(&self, retry: u32, failure: &ModelFailure, chance: f64) -> Option<Duration> {
        if retry > self.retries || !PASSING.contains(&&*failure.code) {
            return None;
        }
        if let Some(asked) = failure.provider_retry_after_ms.filter(|asked| *asked > 0) {
            let asked = Duration::from_millis(asked);
            return (asked <= self.longest_asked).then_some(asked);
        }
        let doubled = 1_u32.checked_shl(retry - 1).unwrap_or(u32::MAX);
        let wait = self.first_wait.saturating_mul(doubled).min(self.longest_wait);
        let jitter = self.jitter.clamp(0.0, 1.0);
        let part = jitter.mul_add(2.0 * chance.clamp(0.0, 1.0) - 1.0, 1.0);
        Some(wait.mul_f64(part))
    }

    /// The policy in one text, as the real client writes it.
    fn key(&self) -> String {
        let millis = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let (first, longest) = (millis(self.first_wait), millis(self.longest_wait));
        let key = ("normal", self.retries, PASSING, first, longest, self.jitter);
        serde_json::to_string(&key).unwrap_or_default()
    }
}

/// A wait before a request is sent again: the data of `llm/retry` (contracts §1.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// The same for all retries of one step.
    pub retry_id: String,
    /// The turn, from 1.
    pub turn: u64,
    /// The step in it, from 1.
    pub step: u64,
    /// Who failed.
    pub provider: String,
    /// `normal`, which counts, or `always`.
    pub mode: String,
    /// The policy in one text.
    pub policy_key: String,
    /// Which retry it is, from 1.
    pub retry: u32,
    /// After how many the turn ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// How many milliseconds pass before it; ours are whole.
    #[serde(serialize_with = "shortest")]
    pub delay_ms: f64,
    /// Why.
    pub failure: ModelFailure,
}

/// The end of such a wait: the data of `llm/retry-started`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RetryStarted<'a> {
    retry_id: &'a str,
    turn: u64,
    step: u64,
    retry: u32,
}

impl Retry {
    /// The next retry of a step, and how long to wait for it; none where the failure ends the turn.
    pub(crate) fn next(
        policy: &RetryPolicy,
        place: Place,
        id: &str,
        retry: u32,
        provider: &str,
        failure: &ModelFailure,
    ) -> Option<(Self, Duration)> {
        let wait = policy.wait(retry, failure, chance(id, retry))?;
        // Whole milliseconds: what the log says is what is waited.
        let wait = Duration::from_millis(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        let logged = Self {
            retry_id: id.to_owned(),
            turn: place.turn,
            step: place.step,
            provider: provider.to_owned(),
            mode: "normal".into(),
            policy_key: policy.key(),
            retry,
            max_retries: Some(policy.retries),
            delay_ms: wait.as_secs_f64() * 1000.0,
            failure: failure.clone(),
        };
        Some((logged, wait))
    }

    /// What is logged when the wait is over.
    pub(crate) fn started(&self) -> RetryStarted<'_> {
        let (turn, step, retry) = (self.turn, self.step, self.retry);
        RetryStarted { retry_id: &self.retry_id, turn, step, retry }
    }
}

/// Writes a number as JavaScript does: a whole one without a fraction.
fn shortest<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.fract() == 0.0 && (0.0..9e15).contains(number) {
        serializer.serialize_u64(*number as u64)
    } else {
        serializer.serialize_f64(*number)
    }
}

/// A number from 0 up to 1 that differs from retry to retry: its id is new each time, so no other source is needed.
fn chance(id: &str, retry: u32) -> f64 {
    // FNV-1a, folded: https://datatracker.ietf.org/doc/html/draft-eastlake-fnv
    let bytes = id.bytes().chain(retry.to_le_bytes());
    let hash = bytes
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    f64::from(hash ^ (hash >> 16)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: &str, asked: Option<u64>) -> ModelFailure {
        ModelFailure { provider_retry_after_ms: asked, ..ModelFailure::new(code, "no") }
    }

    #[track_caller]
    fn check(retry: u32, failure: &ModelFailure, millis: Option<u64>) {
        let wait = RetryPolicy::STANDARD.wait(retry, failure, 0.5);
        assert_eq!(wait, millis.map(Duration::from_millis));
    }

    #[test]
    fn waits_double_up_to_the_longest_and_then_there_are_no_more() {
        let busy = failure("SERVER", None);
        for (retry, millis) in (1..).zip([500, 1000, 2000, 4000, 8000]) {
            check(retry, &busy, Some(millis));
        }
        check(6, &busy, None);
        let patient = RetryPolicy { retries: 99, ..RetryPolicy::STANDARD };
        assert_eq!(patient.wait(99, &busy, 0.5), Some(Duration::from_secs(10)));
    }

    #[test]
    fn a_provider_may_ask_for_more_time_but_not_for_any() {
        check(1, &failure("RATE_LIMIT", Some(1_500)), Some(1_500));
        check(1, &failure("RATE_LIMIT", Some(60_000)), Some(60_000));
        check(1, &failure("RATE_LIMIT", Some(60_001)), None);
        check(1, &failure("RATE_LIMIT", Some(0)), Some(500));
    }

    #[test]
    fn what_would_fail_again_is_not_asked_again() {
        for code in ["AUTH", "INVALID_REQUEST", "QUOTA", "CONTEXT_WINDOW_EXCEEDED", "PANIC"] {
            check(1, &failure(code, None), None);
            check(1, &failure(code, Some(1)), None);
        }
    }

    #[test]
    fn waits_lie_within_the_jitter_and_differ() {
        let busy = failure("SERVER", None);
        let wait = |chance| RetryPolicy::STANDARD.wait(1, &busy, chance).unwrap().as_millis();
        assert_eq!((wait(0.0), wait(1.0)), (450, 550));
        let chances: Vec<f64> = (1..=3).map(|retry| chance("an id", retry)).collect();
        assert!(chances.iter().all(|chance| (0.0..=1.0).contains(chance)));
        assert!(chances[0] != chances[1] && chances[1] != chances[2]);
    }

    #[test]
    fn retries_are_written_as_the_real_client_writes_them() {
        let recorded = r#"{"retryId":"90f6da79","turn":1,"step":1,"provider":"deepseek-official","mode":"normal","policyKey":"[\"normal\",2,[\"EMPTY_RESPONSE\",\"RATE_LIMIT\",\"SERVER\",\"TIMEOUT\",\"TRANSPORT\"],120,2000,0.1]","retry":1,"maxRetries":2,"delayMs":116.99715314510183,"failure":{"message":"the scripted server is unwell","code":"SERVER","status":500,"requestId":"req-53"}}"#;
        let read: Retry = serde_json::from_str(recorded).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), recorded);
        let policy = RetryPolicy {
            retries: 2,
            first_wait: Duration::from_millis(120),
            longest_wait: Duration::from_millis(2000),
            ..RetryPolicy::STANDARD
        };
        assert_eq!(policy.key(), read.policy_key);
        let place = Place { turn: read.turn, step: read.step };
        let (own, wait) =
            Retry::next(&policy, place, &read.retry_id, 1, &read.provider, &read.failure).unwrap();
        assert_eq!(Duration::from_millis(own.delay_ms as u64), wait);
        let whole = serde_json::to_string(&Retry { delay_ms: 1000.0, ..own.clone() }).unwrap();
        assert!(whole.contains(r#""delayMs":1000,"#), "{whole}");
        assert_eq!(Retry { delay_ms: read.delay_ms, ..own }, read);
    }
}
