//! Fuel: synthetic tanks of known truth in, refuels and drains out.

mod cases;
mod properties;
mod replay;
mod tank;
