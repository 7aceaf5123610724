//! What goes wrong with a call, as the codes and sentences that the log keeps (contracts §11.5).

use dsh_agent::ModelFailure;
use reqwest::StatusCode;
use reqwest::header::{DATE, HeaderMap, HeaderName, LOCATION, RETRY_AFTER};
use serde_json::Value;

/// Most characters of a service's own words that are kept.
const MOST: usize = 500;

/// A failure whose answer cannot be read.
pub(crate) fn malformed(message: String) -> ModelFailure {
    ModelFailure::new("MALFORMED_RESPONSE", message)
}

/// The connection could not be made, or broke.
pub(crate) fn transport(host: &str, what: &str, error: reqwest::Error) -> ModelFailure {
    // The URL may hold what is secret in its query.
    let causes = causes(&error.without_url());
    ModelFailure::new("TRANSPORT", format!("{host}: {what}: {causes}"))
}

/// The innermost errors say what happened, the outermost only that something did.
fn causes(error: &dyn std::error::Error) -> String {
    let chain = std::iter::successors(error.source(), |error| error.source());
    let mut said: Vec<String> = Vec::new();
    for cause in chain.map(ToString::to_string) {
        if !said.iter().any(|before| before.contains(&cause)) {
            said.push(cause);
        }
    }
    if said.is_empty() { error.to_string() } else { said.join(": ") }
}

/// An error that came within an answer: `error`, as a service writes it.
pub(crate) fn of_payload(error: &Value) -> ModelFailure {
    let words = Words::of(error);
    let status =
        error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let status =
        status.and_then(|code| StatusCode::from_u16(code).ok()).filter(|code| code.as_u16() >= 400);
    let code = match status {
        Some(status) => code(status, &words.all),
        None if exceeds_context(&words.all) => "CONTEXT_WINDOW_EXCEEDED".into(),
        None if exceeds_quota(&words.all) => "QUOTA".into(),
        None if words.all.contains("rate_limit") || words.all.contains("rate limit") => {
            "RATE_LIMIT".into()
        }
        None => "SERVER".into(),
    };
    let message = words.message.unwrap_or_else(|| shortened(&error.to_string()));
    ModelFailure {
        status: status.map(|status| status.as_u16()),
        ..ModelFailure::new(&code, message)
    }
}

/// An answer that is no success, by its status, headers and body.
pub(crate) fn of_status(
    host: &str,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
) -> ModelFailure {
    let body = String::from_utf8_lossy(body);
    let json: Option<Value> = serde_json::from_str(&body).ok();
    let error = json.as_ref().map(|json| json.get("error").unwrap_or(json));
    let words = error.map(Words::of).unwrap_or_else(|| Words::plain(&body));
    let code = code(status, &words.all);
    let said = words.message.map(|message| format!(": {message}")).unwrap_or_default();
    let hint = hint(&code, status, headers);
    ModelFailure {
        message: format!("{host} answered {}{said}{hint}", named(status)),
        code,
        status: Some(status.as_u16()),
        provider_retry_after_ms: retry_after(headers),
        request_id: request_id(headers),
    }
}

/// What a person can do about it.
fn hint(code: &str, status: StatusCode, headers: &HeaderMap) -> String {
    match (code, status) {
        ("AUTH", _) => "; check the key".into(),
        ("HTTP_404" | "HTTP_405", _) => "; check the base URL and the model's name".into(),
        (_, status) if status.is_redirection() => {
            let to = headers.get(LOCATION).map(|to| lossy(to.as_bytes()));
            // A query may hold a secret that was meant for one place.
            let to = to.as_deref().and_then(|to| to.split(['?', '#']).next()).map(shortened);
            format!("; it moved to {}, make that the base URL", to.as_deref().unwrap_or("nowhere"))
        }
        _ => String::new(),
    }
}

fn named(status: StatusCode) -> String {
    let reason = status.canonical_reason();
    reason.map_or_else(
        || status.as_u16().to_string(),
        |reason| format!("{} {reason}", status.as_u16()),
    )
}

/// What a service says about an error.
struct Words {
    /// For people.
    message: Option<String>,
    /// Code, type and message, in lower case: what failures are told apart by.
    all: String,
}

impl Words {
    fn of(error: &Value) -> Self {
        let text = |name: &str| error.get(name).and_then(Value::as_str);
        let message = text("message").or_else(|| text("detail")).or_else(|| error.as_str());
        let all = [text("code"), text("type"), message].into_iter().flatten();
        let all = all.collect::<Vec<_>>().join(" ").to_lowercase();
        Self { message: message.map(shortened).filter(|message| !message.is_empty()), all }
    }

    /// Of a page, its title is said; of plain text, its beginning.
    fn plain(body: &str) -> Self {
        let lower = body.to_lowercase();
        let title = lower.find("<title>").and_then(|from| {
            let from = from + "<title>".len();
            let to = lower.get(from..)?.find("</title>")? + from;
            body.get(from..to)
        });
        let message = match title {
            Some(title) => format!("a web page, {:?}", shortened(title)),
            None if body.trim_start().starts_with('<') => "a web page".to_owned(),
            None => shortened(body),
        };
        Self { all: lower, message: Some(message).filter(|message| !message.is_empty()) }
    }
}

/// The code of a status, where the words do not tell more.
fn code(status: StatusCode, words: &str) -> String {
    match status.as_u16() {
        401 | 403 => "AUTH".into(),
        413 => "INVALID_REQUEST".into(),
        402 => "QUOTA".into(),
        _ if exceeds_quota(words) => "QUOTA".into(),
        429 => "RATE_LIMIT".into(),
        400 if exceeds_context(words) => "CONTEXT_WINDOW_EXCEEDED".into(),
        400 => "INVALID_REQUEST".into(),
        408 => "TIMEOUT".into(),
        status if status >= 500 => "SERVER".into(),
        status => format!("HTTP_{status}"),
    }
}

/// Whether it says that the history is longer than the model can read.
fn exceeds_context(words: &str) -> bool {
    const SIGNS: [&str; 8] = [
        "context_length_exceeded",
        "context_window_exceeded",
        "exceed_context_size",
        "maximum context length",
        "max context length",
        "available context size",
        "too long for this model",
        "prompt is too long",
    ];
    SIGNS.iter().any(|sign| words.contains(sign))
        || (words.contains("context") && words.contains("exceed"))
}

/// Whether it says that what was paid for is used up, which does not pass by itself.
fn exceeds_quota(words: &str) -> bool {
    const SIGNS: [&str; 8] = [
        "insufficient_quota",
        "insufficient quota",
        "insufficient balance",
        "insufficient credit",
        "insufficient_balance",
        "exceeded your current quota",
        "quota exceeded",
        "out of credits",
    ];
    SIGNS.iter().any(|sign| words.contains(sign))
}

/// How many milliseconds the service asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date. A date
/// counts from the service's own, so that no other clock matters.
fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let text =
        |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let positive = |millis: u64| Some(millis).filter(|millis| *millis > 0);
    if let Some(millis) = text(HeaderName::from_static("retry-after-ms")) {
        return millis.parse::<f64>().ok().and_then(|millis| positive(millis as u64));
    }
    let said = text(RETRY_AFTER)?;
    if let Ok(seconds) = said.parse::<f64>() {
        return positive((seconds * 1000.0) as u64);
    }
    let (then, now) = (httpdate::parse_http_date(said).ok()?, text(DATE)?);
    let wait = then.duration_since(httpdate::parse_http_date(now).ok()?).ok()?;
    positive(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
}

/// The service's name for the request, in whatever script.
fn request_id(headers: &HeaderMap) -> Option<String> {
    let names = ["x-request-id", "x-deepseek-request-id", "request-id"];
    let found = names.iter().find_map(|name| headers.get(*name))?;
    Some(shortened(&lossy(found.as_bytes()))).filter(|id| !id.is_empty())
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The beginning of a text, on one line.
fn shortened(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn failed(status: u16, headers: &[(&str, &str)], body: &str) -> ModelFailure {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.insert(name, reqwest::header::HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        of_status("h:1", StatusCode::from_u16(status).unwrap(), &map, body.as_bytes())
    }

    #[track_caller]
    fn check(status: u16, body: &str, code: &str, message: &str) {
        let failure = failed(status, &[], body);
        assert_eq!((failure.code.as_str(), failure.message.as_str()), (code, message));
        assert_eq!(failure.status, Some(status));
    }

    #[test]
    fn a_status_and_words_become_a_code_and_a_sentence() {
        let error = |message: &str| json!({ "error": { "message": message } }).to_string();
        check(401, &error("no"), "AUTH", "h:1 answered 401 Unauthorized: no; check the key");
        check(402, "", "QUOTA", "h:1 answered 402 Payment Required");
        check(
            429,
            &error("slow down"),
            "RATE_LIMIT",
            "h:1 answered 429 Too Many Requests: slow down",
        );
        let quota = error("You exceeded your current quota");
        check(
            429,
            &quota,
            "QUOTA",
            "h:1 answered 429 Too Many Requests: You exceeded your current quota",
        );
        check(529, "", "SERVER", "h:1 answered 529");
        check(418, r#"{"detail":"tea"}"#, "HTTP_418", "h:1 answered 418 I'm a teapot: tea");
        check(400, r#"{"error":"odd"}"#, "INVALID_REQUEST", "h:1 answered 400 Bad Request: odd");
        check(503, "  busy\n now ", "SERVER", "h:1 answered 503 Service Unavailable: busy now");
    }

    #[test]
    fn a_web_page_is_named_and_not_shown() {
        let page = "<!DOCTYPE html><html><head><TITLE>502\nBad Gateway</TITLE></head><body>nginx";
        let said = "h:1 answered 502 Bad Gateway: a web page, \"502 Bad Gateway\"";
        check(502, page, "SERVER", said);
        check(500, " <html>", "SERVER", "h:1 answered 500 Internal Server Error: a web page");
    }

    #[test]
    fn too_long_a_history_is_known_by_the_words_of_many_services() {
        for body in [
            json!({ "error": { "code": "context_length_exceeded", "message": "x" } }),
            json!({ "error": { "message": "This model's maximum context length is 8192 tokens." } }),
            json!({ "error": { "message": "the request exceeds the available context size" } }),
            json!({ "error": { "type": "exceed_context_size_error", "message": "x" } }),
            json!({ "object": "error", "message": "Input exceeds the context window" }),
        ] {
            assert_eq!(
                failed(400, &[], &body.to_string()).code,
                "CONTEXT_WINDOW_EXCEEDED",
                "{body}"
            );
        }
    }

    #[test]
    fn a_wait_is_read_in_every_form_and_counts_from_the_services_clock() {
        let wait = |headers: &[(&str, &str)]| failed(429, headers, "").provider_retry_after_ms;
        assert_eq!(wait(&[("retry-after", "7")]), Some(7_000));
        assert_eq!(wait(&[("retry-after", " 0.5 ")]), Some(500));
        assert_eq!(wait(&[("retry-after-ms", "120"), ("retry-after", "7")]), Some(120));
        let (now, then) = ("Tue, 01 Dec 2026 02:00:00 GMT", "Tue, 01 Dec 2026 02:00:09 GMT");
        assert_eq!(wait(&[("retry-after", then), ("date", now)]), Some(9_000));
        assert_eq!(wait(&[("retry-after", now), ("date", then)]), None);
        for none in ["0", "-3", "soon", "", "nan", then] {
            assert_eq!(wait(&[("retry-after", none)]), None, "{none}");
        }
    }

    #[test]
    fn a_request_id_may_be_in_any_script() {
        let id = |value: &str| failed(500, &[("x-request-id", value)], "").request_id;
        assert_eq!(id("req-1").as_deref(), Some("req-1"));
        assert_eq!(id("ü-会話").as_deref(), Some("ü-会話"));
        assert_eq!(id(" "), None);
    }

    #[test]
    fn a_move_is_told_without_what_may_be_secret() {
        let failure = failed(308, &[("location", "https://other/v1?key=sesame")], "");
        assert_eq!(
            failure.message,
            "h:1 answered 308 Permanent Redirect; it moved to https://other/v1, make that the base URL"
        );
    }

    #[test]
    fn errors_within_an_answer_have_codes_too() {
        let code = |error: Value| of_payload(&error).code;
        assert_eq!(code(json!({ "message": "x", "code": 429 })), "RATE_LIMIT");
        assert_eq!(code(json!({ "message": "x", "code": 502 })), "SERVER");
        assert_eq!(code(json!({ "message": "x", "type": "rate_limit_error" })), "RATE_LIMIT");
        assert_eq!(code(json!({ "code": "context_length_exceeded" })), "CONTEXT_WINDOW_EXCEEDED");
        assert_eq!(code(json!("out of memory")), "SERVER");
        assert_eq!(of_payload(&json!("out of memory")).message, "out of memory");
        assert_eq!(of_payload(&json!({ "a": 1 })).message, r#"{"a":1}"#);
    }

    #[test]
    fn words_have_an_end() {
        let failure = failed(500, &[], &"ä ".repeat(9_999));
        assert!(failure.message.chars().count() < 600, "{}", failure.message);
    }
}
