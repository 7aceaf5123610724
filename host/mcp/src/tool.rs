//! A tool of a server, as the loop knows tools.

use std::sync::Arc;

use async_trait::async_trait;
use dsh_agent::{Call, Cancel, Tool, ToolError, ToolOutput, ToolSpec};
use dsh_session::Json;
use rmcp::model::JsonObject;

use crate::connection::Connection;
use crate::names::Names;
use crate::result;

/// Most bytes of a description: it goes into every request.
const DESCRIPTION: usize = 4 << 10;

/// Most bytes of a schema.
const SCHEMA: usize = 64 << 10;

/// A tool of a server.
pub(crate) struct ServerTool {
    connection: Arc<Connection>,
    spec: ToolSpec,
    /// As the server knows it.
    name: String,
    read_only: bool,
}

impl ServerTool {
    /// A tool as its server described it; or why it cannot be used.
    pub(crate) fn new(
        connection: Arc<Connection>,
        tool: rmcp::model::Tool,
        names: &mut Names,
    ) -> Result<Self, String> {
        let refused = |why: &str| format!("its tool {:?} is left out: {why}", tool.name);
        if tool.name.is_empty() {
            return Err(refused("it has no name"));
        }
        let mut schema = (*tool.input_schema).clone();
        schema.entry("type").or_insert_with(|| "object".into());
        if schema.get("type").and_then(|kind| kind.as_str()) != Some("object") {
            return Err(refused("its schema is not that of an object"));
        }
        let parameters = Json::of(&schema).map_err(|error| refused(&error.to_string()))?;
        if parameters.as_str().len() > SCHEMA {
            return Err(refused("its schema is larger than 64 KiB"));
        }
        let mut description = tool.description.as_deref().unwrap_or_default().to_owned();
        description.truncate(description.floor_char_boundary(DESCRIPTION));
        let hint = tool.annotations.as_ref().and_then(|annotations| annotations.read_only_hint);
        let read_only = connection.server.trusted && hint == Some(true);
        let name = names.claim(&connection.server.name, &tool.name);
        let spec = ToolSpec { name, description, parameters };
        Ok(Self { connection, spec, name: tool.name.to_string(), read_only })
    }
}

#[async_trait]
impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn read_only(&self) -> bool {
        self.read_only
    }

    /// A server that says that it only reads says so of calls side by side too.
    fn parallel(&self) -> bool {
        self.read_only
    }

    async fn run(&self, call: Call, _: Cancel) -> Result<ToolOutput, ToolError> {
        let arguments: JsonObject =
            call.arguments.read().map_err(|error| ToolError::arguments(&error.to_string()))?;
        result::output(
            &self.connection.server.name,
            self.connection.call(&self.name, arguments).await?,
        )
    }
}
