//! WASI, granted as `wasi-empty`, has no file, variable, argument or network in it; clocks stand still, chance is new in
//! each call, and what is written to a standard stream is logged.

use programs::{Decision, Failure, Message, PreStep, seen};

mod wasi {
    wit_bindgen::generate!({
        inline: r#"
            package test:guest;

            world guest {
                import wasi:cli/environment@0.2.6;
                import wasi:cli/stdout@0.2.6;
                import wasi:cli/stderr@0.2.6;
                import wasi:cli/stdin@0.2.6;
                import wasi:clocks/wall-clock@0.2.6;
                import wasi:clocks/monotonic-clock@0.2.6;
                import wasi:random/random@0.2.6;
                import wasi:sockets/create@0.2.6;
            }

            package wasi:io@0.2.6 {
                interface poll {
                    resource pollable { ready: func() -> bool; block: func(); }
                    poll: func(in: list<borrow<pollable>>) -> list<u32>;
                }
                interface error { resource error { to-debug-string: func() -> string; } }
                interface streams {
                    use error.{error};
                    use poll.{pollable};
                    variant stream-error { last-operation-failed(error), closed }
                    resource output-stream {
                        check-write: func() -> result<u64, stream-error>;
                        write: func(contents: list<u8>) -> result<_, stream-error>;
                        blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>;
                        flush: func() -> result<_, stream-error>;
                        blocking-flush: func() -> result<_, stream-error>;
                        subscribe: func() -> pollable;
                        write-zeroes: func(len: u64) -> result<_, stream-error>;
                        blocking-write-zeroes-and-flush: func(len: u64) -> result<_, stream-error>;
                        splice: func(src: borrow<input-stream>, len: u64) -> result<u64, stream-error>;
                        blocking-splice: func(src: borrow<input-stream>, len: u64) -> result<u64, stream-error>;
                    }
                    resource input-stream {
                        read: func(len: u64) -> result<list<u8>, stream-error>;
                        blocking-read: func(len: u64) -> result<list<u8>, stream-error>;
                        skip: func(len: u64) -> result<u64, stream-error>;
                        blocking-skip: func(len: u64) -> result<u64, stream-error>;
                        subscribe: func() -> pollable;
                    }
                }
            }
            package wasi:cli@0.2.6 {
                interface environment {
                    get-environment: func() -> list<tuple<string, string>>;
                    get-arguments: func() -> list<string>;
                    initial-cwd: func() -> option<string>;
                }
                interface stdin {
                    use wasi:io/streams@0.2.6.{input-stream};
                    get-stdin: func() -> input-stream;
                }
                interface stdout {
                    use wasi:io/streams@0.2.6.{output-stream};
                    get-stdout: func() -> output-stream;
                }
                interface stderr {
                    use wasi:io/streams@0.2.6.{output-stream};
                    get-stderr: func() -> output-stream;
                }
            }
            package wasi:clocks@0.2.6 {
                interface wall-clock {
                    record datetime { seconds: u64, nanoseconds: u32 }
                    now: func() -> datetime;
                    resolution: func() -> datetime;
                }
                interface monotonic-clock {
                    use wasi:io/poll@0.2.6.{pollable};
                    type instant = u64;
                    now: func() -> instant;
                    resolution: func() -> duration;
                    subscribe-instant: func(when: instant) -> pollable;
                    type duration = u64;
                    subscribe-duration: func(when: duration) -> pollable;
                }
            }
            package wasi:random@0.2.6 {
                interface random {
                    get-random-bytes: func(len: u64) -> list<u8>;
                    get-random-u64: func() -> u64;
                }
            }
            package wasi:sockets@0.2.6 {
                interface create {
                    enum error-code { unknown, access-denied, not-supported }
                    resource socket;
                    create-tcp-socket: func() -> result<socket, error-code>;
                }
            }
        "#,
        generate_all,
    });
}

use wasi::wasi::{cli, clocks, io, random, sockets};

struct Program;

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let _ = batch;
        let out = cli::stdout::get_stdout();
        let room = out.check_write().expect("room");
        out.write(b"to the ").expect("written");
        out.write(b"log\nand more").expect("written");
        out.blocking_flush().expect("flushed");
        cli::stderr::get_stderr().write("✗ amiss\n".as_bytes()).expect("written");
        let waits = clocks::monotonic_clock::subscribe_duration(u64::MAX);
        waits.block();
        let ready = (waits.ready(), io::poll::poll(&[&waits, &waits]));
        let now = clocks::wall_clock::now();
        let found = (
            cli::environment::get_environment(),
            cli::environment::get_arguments(),
            cli::environment::initial_cwd(),
            sockets::create::create_tcp_socket().map(|_| "a socket").map_err(|code| code.name()),
            cli::stdin::get_stdin().blocking_read(1).map_err(|_| "closed"),
            (now.seconds, now.nanoseconds, clocks::monotonic_clock::now()),
        );
        let chance = random::random::get_random_bytes(11);
        let more = random::random::get_random_u64();
        Ok(seen(format!("{found:?} {room} {ready:?}|{chance:?} {more}")))
    }
}

programs::export!(Program: PreStep);
