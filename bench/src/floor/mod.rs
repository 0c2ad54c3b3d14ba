//! The floor: the least that a program on this machine can spend on the same bytes. A raw socket loop with the
//! whole computation in one thread, a bare fan-out, an echo. They keep no promise but the answers' form; a durable
//! loop also keeps the rows that it acknowledges.

mod durable;
mod echo;
mod fan_out;
mod pipeline;
mod rows;
mod sockets;

pub(crate) use echo::echo;
pub(crate) use fan_out::{FanOutOptions, fan_out};
pub(crate) use pipeline::Pipeline;
pub(crate) use sockets::{FloorOptions, floor};
