//! What is known of an MCP server before it is reached.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// An MCP server.
#[derive(Clone, Debug)]
pub struct Server {
    /// What its tools' names begin with.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// Whether it is believed when it says that a tool only reads.
    pub trusted: bool,
    /// What it may take.
    pub limits: Limits,
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub enum Transport {
    /// A process of ours, over its standard input and output.
    Process {
        /// The program and its arguments.
        words: Vec<String>,
        /// Its whole environment: nothing is inherited.
        env: Vec<(String, String)>,
        /// Where it runs.
        folder: PathBuf,
    },
    /// Streamable HTTP.
    Http {
        /// The endpoint.
        url: String,
        /// Headers of each request.
        headers: Vec<(String, String)>,
    },
}

/// What a server may take, in time, number and bytes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Until it has said which tools it has.
    pub start: Duration,
    /// Until a call is answered.
    pub call: Duration,
    /// Most tools that are taken from it; what a model can choose from well is fewer.
    pub tools: usize,
    /// How often it is started again after it died, until a call works in between.
    pub restarts: u32,
    /// Most bytes that a process may say from one call to the next.
    pub said: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(10),
            call: Duration::from_secs(120),
            tools: 128,
            restarts: 3,
            said: 64 << 20,
        }
    }
}

/// Something about a server that the person should know.
///
/// What it says of itself is in it: whoever shows it makes control characters visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The server.
    pub server: String,
    /// What happened, and what follows from it.
    pub text: String,
}

/// Takes notices.
pub type Notices = Arc<dyn Fn(Notice) + Send + Sync>;
