//! What every tool here does alike: its schema, its arguments, and work off the runtime's threads.

use dsh_agent::{Call, ToolError, ToolSpec};
use dsh_session::Json;
use serde::de::DeserializeOwned;

/// How a model sees a tool.
pub(crate) fn spec(
    name: &str,
    description: &str,
    parameters: &str,
) -> Result<ToolSpec, serde_json::Error> {
    // Written for people, sent without the white space.
    let parameters: serde_json::Value = serde_json::from_str(parameters)?;
    Ok(ToolSpec {
        name: name.into(),
        description: description.into(),
        parameters: Json::of(&parameters)?,
    })
}

/// The arguments of a call in their shape; the error names the member and where it stands.
pub(crate) fn arguments<T: DeserializeOwned>(call: &Call) -> Result<T, ToolError> {
    call.arguments.read().map_err(|error| ToolError::arguments(&error.to_string()))
}

/// Runs work that waits for disks. It goes on when its caller is dropped, so it looks at its `Cancel` where it is long.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(cancelled()),
    }
}

/// What work says that was told to stop. Nobody reads it: the loop has given up on the call.
pub(crate) fn cancelled() -> ToolError {
    ToolError::new("AbortError", "ABORTED", "tool call aborted")
}
