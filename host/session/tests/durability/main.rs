//! What is acknowledged is on disk, whatever happens to the process or to the disk.
//!
//! The writer that is harmed is a process of its own: this very program, started again. The harm is real: `SIGKILL`
//! at any moment, and a file system that takes no more bytes.
//!
//! `cargo test -p dsh-session --test durability` runs everything; a word after `--` chooses by name.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(
    clippy::print_stdout,
    reason = "the writer tells what is on disk, and the test what it does"
)]

mod check;
mod long;
mod writer;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", root, encoding] => writer::write(root.as_ref(), encoding),
        ["open", root, encoding] => long::open(root.as_ref(), encoding),
        _ => {
            let wanted = arguments.iter().find(|argument| !argument.starts_with('-'));
            for (name, check) in check::ALL {
                if wanted.is_none_or(|wanted| name.contains(wanted.as_str())) {
                    check();
                    println!("test {name} ... ok");
                }
            }
        }
    }
}
