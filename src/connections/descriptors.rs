//! How many files and sockets this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As many as a large fleet on one server needs. For more, an operator sets both limits.
const ENOUGH: u64 = 65_536;

/// Takes as many as the system lets a process have that asks, 65,536 at most: the limit that is in force without
/// asking (`ulimit -S -n`) is often 1,024, for the sake of programs that use `select`.
pub fn raise() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(ENOUGH, |most| most.min(ENOUGH));
    if current.is_some_and(|current| current < wanted)
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum })
    {
        tracing::warn!(%error, "the limit of open files and sockets stays as it is");
    }
}

/// The limit in force.
#[must_use]
pub fn limit() -> usize {
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| limit as usize)
}
