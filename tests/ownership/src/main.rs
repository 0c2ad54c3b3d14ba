//! Searches the model of ownership to its end and prints how much that was.
//!
//! `waypost-ownership [PAUSES [LOST_CONNECTIONS [FAILOVERS [FIXES [NODES [SHARDS [ALIKE]]]]]]]`, each one if it is not said; nodes and
//! shards are three and two. `ALIKE`: 1 if both shards rank the nodes alike, 0 if each has its own node.

use std::process::ExitCode;
use std::time::Instant;

use stateright::report::WriteReporter;
use stateright::{Checker, Model};
use waypost_ownership::model::{Limits, Ownership, Ranking};

fn main() -> ExitCode {
    let numbers: Result<Vec<u8>, _> = std::env::args().skip(1).map(|arg| arg.parse()).collect();
    let Ok(numbers) = numbers else {
        eprintln!("numbers, please: pauses, lost connections, failovers, fixes, nodes, shards, alike");
        return ExitCode::from(2);
    };
    let number = |index: usize, default| numbers.get(index).copied().unwrap_or(default);
    let limits = Limits {
        pauses: number(0, 1),
        lost_connections: number(1, 1),
        failovers: number(2, 1),
        fixes: number(3, 1),
        nodes: usize::from(number(4, 3)),
        shards: usize::from(number(5, 2)),
        ranking: if number(6, 0) == 0 { Ranking::OwnNode } else { Ranking::Alike },
        ..Limits::CALM
    };
    println!("{limits:?}");
    let began = Instant::now();
    let checker = Ownership::new(limits).checker().threads(2).spawn_dfs();
    let checker = checker.join_and_report(&mut WriteReporter::new(&mut std::io::stdout()));
    let (states, transitions) = (checker.unique_state_count(), checker.state_count());
    println!("{states} states, {transitions} steps, depth {}, {:.1?}", checker.max_depth(), began.elapsed());
    println!(
        "shards have their owners {} ticks after the last fault at most",
        checker.model().longest_recovery()
    );
    let mut is_sound = true;
    for property in checker.model().properties() {
        let found = checker.discovery(property.name);
        let is_kept = found.is_some() != property.expectation.discovery_is_failure();
        is_sound &= is_kept;
        println!("{}: {}", if is_kept { "kept" } else { "BROKEN" }, property.name);
        if let (false, Some(path)) = (is_kept, found) {
            println!("  {:?}", path.into_actions());
        }
    }
    if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
