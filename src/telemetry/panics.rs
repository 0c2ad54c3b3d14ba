//! Panics: counted, and told as log lines like everything else.

use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicU64, Ordering};

static PANICS: AtomicU64 = AtomicU64::new(0);

/// How many there were in this process since they are listened to.
pub(super) fn count() -> u64 {
    PANICS.load(Ordering::Relaxed)
}

/// From now on panics are counted, and told in the log. Where they are caught is where they always were.
pub(super) fn listen() {
    std::panic::set_hook(Box::new(told));
}

fn told(panic: &PanicHookInfo<'_>) {
    PANICS.fetch_add(1, Ordering::Relaxed);
    let what = panic.payload_as_str().unwrap_or("no message");
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let thread = std::thread::current();
    tracing::error!(what, place, thread = thread.name(), "panic");
}
