//! What a vehicle burns during a stay, reading by reading. Kept in the stay.

use serde::{Deserialize, Serialize};

use super::consumption::{Measured, Meter};
use super::event::FuelEvent;
use super::tank::Tank;
use crate::model::Timestamp;

/// If a smaller share of the stay is covered, too little is known.
const MIN_COVERAGE: f64 = 0.5;

/// A stay's fuel so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StayFuel {
    meter: Meter,
    tank: Tank,
    /// The certain ones that are not settled in the meter yet.
    events: Vec<FuelEvent>,
    /// An event that was found but is not certain yet.
    provisional: Option<FuelEvent>,
}

impl StayFuel {
    /// Begins with the stay, from the newest reading before it.
    #[must_use]
    pub fn begin(entered_at: Timestamp, before: Option<&Measured>, tank: Tank) -> Self {
        let mut meter = Meter::begin(entered_at);
        if let Some(before) = before {
            meter.observe(before);
        }
        Self { meter, tank, events: Vec::new(), provisional: None }
    }

    /// Takes the next reading. `provisional`: what is found by then and not certain yet.
    pub fn observe(&mut self, measured: &Measured, tank: Tank, provisional: Option<FuelEvent>) {
        self.tank = tank;
        self.meter.observe(measured);
        self.meter.settle(&mut self.events);
        self.provisional = provisional;
    }

    /// Adds events that became certain, one of which may have been provisional.
    pub fn add_certain(&mut self, events: impl IntoIterator<Item = FuelEvent>) {
        for event in events {
            self.provisional.take_if(|provisional| provisional.id == event.id);
            self.events.push(event);
        }
    }

    /// Litres burnt up to an instant, which must not be before its newest reading; `None` if unknown.
    #[must_use]
    pub fn used_liters(&self, until: Timestamp) -> Option<f64> {
        let events: Vec<FuelEvent> = self.events.iter().chain(&self.provisional).copied().collect();
        let consumption = self.meter.up_to(until).finish(&events, &self.tank);
        consumption.liters.filter(|_| consumption.coverage >= MIN_COVERAGE)
    }
}
