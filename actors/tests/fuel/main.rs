//! Fuel: synthetic tanks of known truth in, refuels and drains out.

mod cases;
mod consumption;
mod properties;
mod replay;
mod tank;
