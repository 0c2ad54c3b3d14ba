//! Panics: counted, and logged like everything else.

use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicU64, Ordering};

static PANICS: AtomicU64 = AtomicU64::new(0);

/// Panics of this process since [`listen`] was called.
pub(super) fn count() -> u64 {
    PANICS.load(Ordering::Relaxed)
}

/// Counts and logs panics from now on. Where they are caught does not change.
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
