//! CPU time of processes, from `/proc`: user and system, including descendants and the ones they waited for.

use std::collections::{BTreeMap, HashMap};
use std::fs;

/// Clock ticks in a second, as Linux reports them to programs on every platform.
const TICKS_PER_SECOND: f64 = 100.0;

struct Process {
    parent: u32,
    ticks: u64,
}

/// Measures the CPU time of some processes.
#[derive(Debug)]
pub struct CpuMeter {
    first: BTreeMap<u32, u64>,
    last: BTreeMap<u32, u64>,
}

impl CpuMeter {
    /// Starts counting from zero.
    #[must_use]
    pub fn new(pids: &[u32]) -> Self {
        let first = totals(pids);
        Self { last: first.clone(), first }
    }

    /// Reads again. A process that is gone keeps what it had at the last reading.
    pub fn sample(&mut self) {
        let pids: Vec<u32> = self.last.keys().copied().collect();
        for (pid, ticks) in totals(&pids) {
            let last = self.last.entry(pid).or_default();
            *last = (*last).max(ticks);
        }
    }

    /// CPU seconds of each process since the beginning.
    #[must_use]
    pub fn seconds(&self) -> BTreeMap<u32, f64> {
        let since = |(pid, ticks): (&u32, &u64)| {
            let first = self.first.get(pid).copied().unwrap_or_default();
            (*pid, ticks.saturating_sub(first) as f64 / TICKS_PER_SECOND)
        };
        self.last.iter().map(since).collect()
    }
}

/// Ticks of each process and everything below it.
fn totals(pids: &[u32]) -> BTreeMap<u32, u64> {
    if pids.is_empty() {
        return BTreeMap::new();
    }
    let processes = processes();
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for (pid, process) in &processes {
        children.entry(process.parent).or_default().push(*pid);
    }
    pids.iter().map(|pid| (*pid, below(*pid, &processes, &children))).collect()
}

fn below(root: u32, processes: &HashMap<u32, Process>, children: &HashMap<u32, Vec<u32>>) -> u64 {
    let mut ticks = 0;
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        ticks += processes.get(&pid).map_or(0, |process| process.ticks);
        open.extend(children.get(&pid).into_iter().flatten());
    }
    ticks
}

fn processes() -> HashMap<u32, Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pid_of = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    let read = |pid: u32| Some((pid, parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?));
    entries.filter_map(pid_of).filter_map(read).collect()
}

/// `pid (name) state ppid … utime stime cutime cstime …`; the name may hold blanks and parentheses.
fn parse(stat: &str) -> Option<Process> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11..15)?.iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    Some(Process { parent: fields.get(1)?.parse().ok()?, ticks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_behind_the_name() {
        let line = "42 (post gres) (x)) S 7 42 42 0 -1 4194560 1 2 3 4 50 60 7 8 20 0 1 0 9 9 9";
        let process = parse(line).unwrap();
        assert_eq!((process.parent, process.ticks), (7, 125));
    }

    #[test]
    fn descendants_count_and_strangers_do_not() {
        let process = |parent, ticks| Process { parent, ticks };
        let processes = HashMap::from([
            (1, process(0, 1)),
            (2, process(1, 10)),
            (3, process(2, 100)),
            (4, process(0, 9)),
        ]);
        let children = HashMap::from([(1, vec![2]), (2, vec![3])]);
        assert_eq!(below(1, &processes, &children), 111);
    }
}
