//! Tools of MCP servers, over stdio and streamable HTTP.
