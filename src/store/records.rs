//! The log of records, written: numbers are given here, one after another, to what is new or changed.
//!
//! The writer row is locked before the first number and holds the next one after the last, so that a
//! commit's numbers have no gap. A record that is put right takes a new number and leaves its old one.

use std::collections::HashMap;

use uuid::Uuid;
use waypost_actors::model::{Event, EventId, Timestamp};
use waypost_actors::ports::{Correction, VehicleWrite};
use waypost_actors::tracking::{Diff, diff};

use super::event_row::{EventRow, SELECT_EVENTS, insert_records};
use super::sql::{Result, Tx};
use super::time::Time;

/// Ids in one statement.
const TOGETHER: usize = 500;
