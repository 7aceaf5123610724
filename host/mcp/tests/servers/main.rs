//! Servers as they are: over real pipes and sockets, from another SDK, and misbehaving in every way.
//!
//! The servers that misbehave are this very program, started again.
//! `cargo test -p dsh-mcp --test servers` runs everything; a word after `--` chooses by name.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "servers speak over their outputs, and the test says what it does"
)]

mod http;
mod misbehaving;
mod raw;
mod rig;
mod sdk;
mod speaking;

use std::pin::Pin;

/// A test: its name, and what it does.
type Check = (&'static str, fn() -> Pin<Box<dyn Future<Output = ()>>>);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [serve, manner, folder] = &arguments[..]
        && serve == "serve"
    {
        return raw::serve(manner, folder.as_ref());
    }
    let wanted = arguments.iter().find(|argument| !argument.starts_with('-'));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let all = [speaking::ALL, misbehaving::ALL, http::ALL, sdk::ALL].concat();
    for (name, check) in all {
        if wanted.is_none_or(|wanted| name.contains(wanted.as_str())) {
            runtime.block_on(check());
            println!("test {name} ... ok");
        }
    }
}
