//! MCP servers, from the settings.

use std::path::Path;
use std::time::Duration;

use dsh_config::{Secret, Settings, Transport};
use dsh_mcp::{Limits, Server};

use crate::surroundings::Surroundings;

/// What a server's process gets of our environment: what programs need to run at all, and nothing that could be a key.
const INHERITED: [&str; 9] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TMPDIR", "TERM"];

/// The servers that the settings name and do not switch off, for a session that works in `cwd`.
pub(crate) fn of(settings: &Settings, around: &Surroundings, cwd: &Path) -> Vec<Server> {
    let on = settings.mcp.iter().filter(|(_, server)| server.enabled);
    let server = |(name, server): (&String, &dsh_config::Server)| {
        let call = server.seconds.map(Duration::from_secs);
        let limits = Limits::default();
        Server {
            name: name.clone(),
            transport: transport(&server.transport, around, cwd),
            trusted: server.trusted,
            limits: Limits { call: call.unwrap_or(limits.call), ..limits },
        }
    };
    on.map(server).collect()
}

fn transport(said: &Transport, around: &Surroundings, cwd: &Path) -> dsh_mcp::Transport {
    let plain = |(name, value): (&String, &Secret)| (name.clone(), value.reveal().to_owned());
    match said {
        Transport::Command { words, folder, env } => {
            let own = INHERITED.iter().filter(|name| !env.contains_key(**name));
            let own = own
                .filter_map(|name| Some(((*name).to_owned(), around.variable(name)?.to_owned())));
            dsh_mcp::Transport::Process {
                words: words.clone(),
                env: own.chain(env.iter().map(plain)).collect(),
                folder: folder.clone().unwrap_or_else(|| cwd.to_owned()),
            }
        }
        Transport::Url { url, headers } => dsh_mcp::Transport::Http {
            url: url.clone(),
            headers: headers.iter().map(plain).collect(),
        },
    }
}
