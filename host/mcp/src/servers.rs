//! All servers together.

use std::sync::Arc;

use dsh_agent::Tool;
use tokio::task::JoinSet;

use crate::connection::Connection;
use crate::names::Names;
use crate::tool::ServerTool;
use crate::{Notice, Notices, Server, StartError};

/// Servers that were started, and their tools. Dropping the last handle of one ends it.
#[derive(Clone, Default)]
pub struct Servers {
    tools: Vec<Arc<dyn Tool>>,
    states: Vec<(String, Result<usize, StartError>)>,
}

impl Servers {
    /// Starts all of them side by side, and waits until each is ready or has failed; none waits longer than its own
    /// limit. One that fails gives no tools and a notice, and stands in nobody's way.
    pub async fn start(servers: Vec<Server>, notices: Notices) -> Self {
        let mut starting = JoinSet::new();
        for (place, server) in servers.iter().cloned().enumerate() {
            let notices = Arc::clone(&notices);
            starting.spawn(async move { (place, Connection::open(server, notices).await) });
        }
        let mut started = starting.join_all().await;
        // In the order in which they are set, so that names do not depend on who is first.
        started.sort_by_key(|(place, _)| *place);
        let mut all = Self::default();
        let mut names = Names::default();
        for (server, (_, opened)) in servers.into_iter().zip(started) {
            let state = match opened {
                Ok((connection, tools)) => Ok(all.add(connection, tools, &mut names)),
                Err(error) => {
                    let text = format!("it gives no tools: {error}");
                    notices(Notice { server: server.name.clone(), text });
                    Err(error)
                }
            };
            all.states.push((server.name, state));
        }
        all
    }

    fn add(
        &mut self,
        connection: Connection,
        tools: Vec<rmcp::model::Tool>,
        names: &mut Names,
    ) -> usize {
        let (before, most) = (self.tools.len(), connection.server.limits.tools);
        let connection = Arc::new(connection);
        for tool in tools.into_iter().take(most) {
            match ServerTool::new(Arc::clone(&connection), tool, names) {
                Ok(tool) => self.tools.push(Arc::new(tool)),
                Err(why) => connection.tell(why),
            }
        }
        self.tools.len() - before
    }

    /// Their tools. What a server says later about its list changes nothing: a model's tools stay through a session.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.clone()
    }

    /// Each server with the number of its tools, or why it has none.
    pub fn states(&self) -> &[(String, Result<usize, StartError>)] {
        &self.states
    }
}
