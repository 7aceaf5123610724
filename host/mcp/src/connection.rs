//! One server that is reached: started, called, and started again.

use std::error::Error;
use std::sync::Arc;

use dsh_agent::ToolError;
use rmcp::ServiceExt as _;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientConfig,
    Implementation, JsonObject, PaginatedRequestParams, Tool,
};
use rmcp::service::{ClientInitializeError, Peer, RoleClient, RunningService, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::process::Process;
use crate::{Notice, Notices, Server, StartError, Transport, http};

/// Most pages of a list of tools: a server may not say for ever that there are more.
const PAGES: usize = 100;

/// Most bytes of an error that a server had a part in.
const SAID: usize = 4 << 10;

/// A server, whether it runs at the moment or not.
pub(crate) struct Connection {
    pub(crate) server: Server,
    notices: Notices,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: Option<Arc<Running>>,
    /// How often it has died since a call worked.
    deaths: u32,
    last_words: String,
}

type Service = RunningService<RoleClient, ClientConfig>;

struct Running {
    service: Service,
    process: Option<Process>,
}

impl Running {
    async fn last_words(&self) -> String {
        last_words(self.process.as_ref()).await
    }

    fn allow(&self, bytes: u64) {
        if let Some(process) = &self.process {
            process.allow(bytes);
        }
    }

    fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }
}

impl Connection {
    /// Starts a server and asks for its tools.
    pub(crate) async fn open(
        server: Server,
        notices: Notices,
    ) -> Result<(Self, Vec<Tool>), StartError> {
        let (running, tools) = start(&server).await?;
        let state = State { running: Some(Arc::new(running)), ..State::default() };
        let connection = Self { server, notices, state: Mutex::new(state) };
        if tools.len() > connection.server.limits.tools {
            let most = connection.server.limits.tools;
            connection
                .tell(format!("it has more than {most} tools; only the first {most} are used"));
        }
        Ok((connection, tools))
    }

    pub(crate) fn tell(&self, text: String) {
        (self.notices)(Notice { server: self.server.name.clone(), text });
    }

    /// Calls a tool. When the future is dropped, the server is told that nobody waits any more.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
    ) -> Result<CallToolResult, ToolError> {
        let running =
            self.ready().await.map_err(|error| self.failed("UNAVAILABLE", &error.to_string()))?;
        running.allow(self.server.limits.said);
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let limit = self.server.limits.call;
        let Ok(answer) = timeout(limit, running.peer().call_tool_once(params)).await else {
            let said =
                format!("no answer within {} seconds; the call was cancelled", limit.as_secs_f32());
            return Err(self.failed("TIMEOUT", &said));
        };
        match answer {
            Ok(CallToolResponse::Complete(result)) => {
                self.state.lock().await.deaths = 0;
                Ok(result)
            }
            Ok(_) => Err(self.failed(
                "UNSUPPORTED",
                "it answered with a question or a task, which are not supported",
            )),
            Err(ServiceError::McpError(error)) => {
                self.state.lock().await.deaths = 0;
                Err(self
                    .failed(&format!("MCP_{}", error.code.0), &bounded(error.message.to_string())))
            }
            Err(error) if running.peer().is_transport_closed() => {
                let words = running.last_words().await;
                let said = format!(
                    "it ended during this call ({error}), and what the call did is unknown; {words}"
                );
                Err(self.failed("DIED", &said))
            }
            Err(error) => Err(self.failed("FAILED", &error.to_string())),
        }
    }

    /// The running server; one that has died is started again, as often as it may.
    async fn ready(&self) -> Result<Arc<Running>, StartError> {
        let mut state = self.state.lock().await;
        if let Some(running) = &state.running {
            if !running.peer().is_transport_closed() {
                return Ok(Arc::clone(running));
            }
            state.last_words = running.last_words().await;
            state.deaths += 1;
            state.running = None;
        }
        let most = self.server.limits.restarts;
        if state.deaths > most {
            return Err(StartError::Deaths {
                deaths: state.deaths,
                last_words: state.last_words.clone(),
            });
        }
        self.tell(format!(
            "it has ended and is started again ({} of {most}); {}",
            state.deaths, state.last_words
        ));
        match start(&self.server).await {
            Ok((running, _)) => {
                let running = Arc::new(running);
                state.running = Some(Arc::clone(&running));
                Ok(running)
            }
            Err(error) => {
                state.deaths += 1;
                state.last_words = error.to_string();
                Err(error)
            }
        }
    }

    fn failed(&self, code: &str, what: &str) -> ToolError {
        ToolError::new("McpError", code, &format!("MCP server {}: {what}", self.server.name))
    }
}

/// Starts a server and asks for its tools, in the time that it has; one more than it may have shows that there are.
async fn start(server: &Server) -> Result<(Running, Vec<Tool>), StartError> {
    let (after, most) = (server.limits.start, server.limits.tools);
    let (greeted, process) = match &server.transport {
        Transport::Process { words, env, folder } => {
            let started = Process::start(words, env, folder, server.limits.said);
            let (process, output, input) = started.map_err(|error| StartError::Program {
                program: words.first().cloned().unwrap_or_default(),
                reason: error.to_string(),
            })?;
            (timeout(after, greet(client().serve((output, input)), most)).await, Some(process))
        }
        Transport::Http { url, headers } => {
            let transport = http::transport(url, headers, after)?;
            (timeout(after, greet(client().serve(transport), most)).await, None)
        }
    };
    match greeted {
        Ok(Ok((service, tools))) => Ok((Running { service, process }, tools)),
        Ok(Err(reason)) => {
            Err(StartError::Broken { reason, last_words: last_words(process.as_ref()).await })
        }
        Err(_) => Err(StartError::Slow { after, last_words: last_words(process.as_ref()).await }),
    }
}

/// What a server leaves for whoever looks for the cause.
async fn last_words(process: Option<&Process>) -> String {
    match process {
        Some(process) => process.last_words().await,
        None => "its own log may say more".into(),
    }
}

/// Finishes the handshake and reads the list of tools.
async fn greet(
    serve: impl Future<Output = Result<Service, ClientInitializeError>>,
    most: usize,
) -> Result<(Service, Vec<Tool>), String> {
    let service = serve.await.map_err(|error| {
        let cause: &dyn Error = match &error {
            // Its own text names types of ours.
            ClientInitializeError::TransportError { error, .. } => sent(&*error.error),
            error => error,
        };
        format!("its handshake failed: {}", causes(cause))
    })?;
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..PAGES {
        let mut params = PaginatedRequestParams::default();
        params.cursor = cursor.take();
        let page = service.peer().list_tools(Some(params)).await;
        let page =
            page.map_err(|error| format!("its list of tools cannot be read: {}", causes(&error)))?;
        tools.extend(page.tools.into_iter().take(most + 1 - tools.len()));
        cursor = page.next_cursor;
        if cursor.is_none() || tools.len() > most {
            break;
        }
    }
    Ok((service, tools))
}

/// Who we are: no roots, no sampling, no questions to the person.
fn client() -> ClientConfig {
    let name = Implementation::new("dsh-wasm", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), name)
}

/// The error below one of the transport over HTTP, which does not name it as its cause.
fn sent<'a>(error: &'a (dyn Error + Send + Sync + 'static)) -> &'a (dyn Error + 'static) {
    match error.downcast_ref() {
        Some(StreamableHttpError::Client(error)) => error as &reqwest::Error,
        _ => error,
    }
}

/// An error with its causes, each said once.
fn causes(error: &dyn Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !said.contains(&text) {
            said.push_str(": ");
            said.push_str(&text);
        }
        cause = error.source();
    }
    bounded(said)
}

/// A text that a server may have written, no longer than a person reads.
fn bounded(mut text: String) -> String {
    if text.len() > SAID {
        text.truncate(text.floor_char_boundary(SAID));
        text.push('…');
    }
    text
}
