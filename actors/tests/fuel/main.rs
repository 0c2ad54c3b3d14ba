//! Fuel: synthetic tanks of known truth in, refuels and drains out.

mod bounds;
mod cases;
mod consumption;
mod properties;
mod replay;
mod reported;
mod stays;
mod strays;
mod tank;
