//! Code that is not the loop's own: a panic of it is its failure, not the loop's.
//!
//! The loop hands it values and takes values from it, so a panic leaves nothing of the loop half done.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures::stream::BoxStream;
use futures::{FutureExt as _, StreamExt as _};

/// Runs `work`; what it panics with becomes a text.
pub(crate) async fn call<F: Future>(work: F) -> Result<F::Output, String> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|panic| text(&*panic))
}

/// The items of `stream`; a panic is the last one.
pub(crate) fn stream<T: 'static>(
    stream: BoxStream<'static, T>,
) -> BoxStream<'static, Result<T, String>> {
    let items = AssertUnwindSafe(stream).catch_unwind();
    items.map(|item| item.map_err(|panic| text(&*panic))).boxed()
}

fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panicked: {}", text.unwrap_or("no message"))
}
