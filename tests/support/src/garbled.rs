//! Very many random inputs for one decoder, and a watch over each: a decoder that goes on for ever fails instead of hanging.

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;

/// Inputs, unless `WAYPOST_TEST_INPUTS` says how many.
const INPUTS: u64 = 20_000;
/// No decoder takes a thousandth of it for the longest input. Processor time, so that a busy machine makes no difference.
const MOST_SECONDS: u64 = 10;
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Calls `read` once for each input, which it makes of the random numbers. Prints the seed, `WAYPOST_TEST_SEED` or a new one; whatever
/// fails is at the same input again with the same seed.
///
/// # Panics
/// `read` does. One that does not end ends the process.
pub fn each_input(decoder: &str, mut read: impl FnMut(&mut StdRng)) {
    let number = |name: &str| {
        std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
    };
    let inputs = number("WAYPOST_TEST_INPUTS").unwrap_or(INPUTS);
    let seed = number("WAYPOST_TEST_SEED").unwrap_or_else(rand::random);
    let watch = Watch::begin(format!("{decoder}, WAYPOST_TEST_SEED={seed}"));
    let mut random = StdRng::seed_from_u64(seed);
    for _ in 0..inputs {
        read(&mut random);
        watch.next();
    }
    println!("{}: {inputs} inputs", watch.whose);
}

/// Counts inputs, and has a thread look whether the count goes on.
struct Watch {
    whose: String,
    done: Arc<AtomicU64>,
    /// The same, where no other thread writes.
    own: Cell<u64>,
}

/// The count of a decoder that has come to its end.
const OVER: u64 = u64::MAX;

impl Watch {
    fn begin(whose: String) -> Self {
        let done = Arc::<AtomicU64>::default();
        let (looked_at, thread, name) = (Arc::clone(&done), this_thread(), whose.clone());
        std::thread::spawn(move || look(&looked_at, &thread, &name));
        Self { whose, done, own: Cell::new(0) }
    }

    fn next(&self) {
        self.own.set(self.own.get() + 1);
        self.done.store(self.own.get(), Ordering::Relaxed);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.done.store(OVER, Ordering::Relaxed);
        if std::thread::panicking() {
            println!("{}: at input {}", self.whose, self.own.get());
        }
    }
}

/// The calling thread as a folder of `/proc`.
fn this_thread() -> PathBuf {
    PathBuf::from("/proc").join(fs::read_link("/proc/thread-self").unwrap_or_default())
}

/// Nanoseconds on a processor.
fn nanos(thread: &std::path::Path) -> u64 {
    let told = fs::read_to_string(thread.join("schedstat")).ok();
    told.and_then(|told| told.split(' ').next()?.parse().ok()).unwrap_or_default()
}

fn look(done: &AtomicU64, thread: &std::path::Path, whose: &str) {
    let (mut last, mut since) = (0, nanos(thread));
    loop {
        std::thread::sleep(LOOK_EVERY);
        let now = done.load(Ordering::Relaxed);
        if now == OVER {
            return;
        }
        if now != last {
            (last, since) = (now, nanos(thread));
        }
        if nanos(thread).saturating_sub(since) > MOST_SECONDS * 1_000_000_000 {
            eprintln!("{whose}: input {now} takes more than {MOST_SECONDS} s of processor time");
            // Nobody can end a thread that does not end by itself.
            std::process::exit(1);
        }
    }
}
