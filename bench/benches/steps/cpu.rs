//! CPU time of this thread as what criterion measures: other work on the machine hardly moves it.

use std::time::{Duration, Instant};

use criterion::measurement::{Measurement, ValueFormatter, WallTime};

/// This thread's time on a processor where the system tells it (Linux), else the clock's.
pub(crate) struct CpuTime {
    began: Instant,
}

impl CpuTime {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now() }
    }

    fn now(&self) -> Duration {
        let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
        let on_cpu = told.and_then(|line| line.split(' ').next()?.parse().ok());
        on_cpu.map_or_else(|| self.began.elapsed(), Duration::from_nanos)
    }
}

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        self.now()
    }

    fn end(&self, start: Duration) -> Duration {
        self.now().saturating_sub(start)
    }

    fn add(&self, one: &Duration, other: &Duration) -> Duration {
        *one + *other
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}
