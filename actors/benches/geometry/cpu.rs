//! CPU time of this thread, which other work on the machine hardly moves.

use std::time::Instant;

/// Rounds of each task; the tasks take turns, so that all see the same machine.
const ROUNDS: usize = 9;
/// A round asks again until it took so long.
const ROUND_NANOSECONDS: u64 = 20_000_000;

/// Nanoseconds per question of each task, which returns how many it asked: the median of the rounds.
pub(crate) fn nanoseconds<const N: usize>(tasks: [&mut dyn FnMut() -> u64; N]) -> [f64; N] {
    let mut figures: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    let mut tasks = tasks;
    let began = Instant::now();
    for _ in 0..ROUNDS {
        for (task, figures) in tasks.iter_mut().zip(&mut figures) {
            let (start, mut asked) = (now(began), 0);
            while now(began) - start < ROUND_NANOSECONDS {
                asked += task();
            }
            figures.push((now(began) - start) as f64 / asked as f64);
        }
    }
    figures.map(|mut figures| {
        figures.sort_by(f64::total_cmp);
        figures[ROUNDS / 2]
    })
}

/// This thread's time on a CPU where the system tells it (Linux), else the clock's.
fn now(began: Instant) -> u64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let on_cpu = told.and_then(|line| line.split(' ').next()?.parse().ok());
    on_cpu.unwrap_or_else(|| began.elapsed().as_nanos() as u64)
}
