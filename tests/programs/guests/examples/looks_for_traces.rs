//! A guest finds nothing of an earlier call in its memory, be it its own or another's.

use std::sync::atomic::{AtomicU32, Ordering};

use programs::{Decision, Failure, Message, PreStep, failure, next};

const PAGE: usize = 64 << 10;
const PAGES: usize = 16;

/// In the data that the component brings along.
static DATA: AtomicU32 = AtomicU32::new(7);

struct Program;

/// Memory that nobody asked for before. Gives its first page.
#[cfg(target_arch = "wasm32")]
fn grow() -> usize {
    core::arch::wasm32::memory_grow(0, PAGES)
}

/// Checked on a person's machine too, and never run there.
#[cfg(not(target_arch = "wasm32"))]
fn grow() -> usize {
    0
}

/// Whether `bytes` bytes from `start` are not as in a fresh memory. They are not when it returns.
fn marked(start: usize, bytes: usize) -> bool {
    #[expect(unsafe_code, reason = "a guest that looks at memory that is not its own language's")]
    let memory = unsafe { std::slice::from_raw_parts_mut(start as *mut u8, bytes) };
    let marked = memory.iter().any(|byte| *byte != 0);
    memory.fill(0xab);
    std::hint::black_box(memory);
    marked
}

impl PreStep for Program {
    fn handle(batch: Vec<Message>) -> Result<Decision, Failure> {
        let grown = grow();
        // The first half of a megabyte is stack that nothing of this reaches.
        if marked(PAGE, 7 * PAGE) {
            return Err(failure("traces-in-the-stack"));
        }
        if marked(grown * PAGE, PAGES * PAGE) {
            return Err(failure("traces-in-new-memory"));
        }
        if DATA.swap(9, Ordering::Relaxed) != 7 {
            return Err(failure("traces-in-the-data"));
        }
        next(batch)
    }
}

programs::export!(Program: PreStep);
