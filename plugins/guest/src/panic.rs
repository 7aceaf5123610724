//! The text of a panic, written to the log before the instance traps.
//!
//! A component without WASI has no standard error: without this hook a panic
//! would end as a bare `unreachable`.

use std::sync::Once;

/// Makes every later panic of this instance write its text and place to the log.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        std::panic::set_hook(Box::new(|panic| crate::log::error(&panic.to_string())));
    });
}
