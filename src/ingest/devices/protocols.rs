//! The protocols by their names in the settings.

use super::message::Dialect;
use super::{gt06, h02, queclink, teltonika};
use crate::config::DeviceProtocol;

/// A protocol at the beginning of a connection.
#[must_use]
pub(super) fn dialect(protocol: DeviceProtocol) -> Box<dyn Dialect> {
    match protocol {
        DeviceProtocol::Teltonika => Box::new(teltonika::Teltonika::default()),
        DeviceProtocol::Gt06 => Box::new(gt06::Gt06::default()),
        DeviceProtocol::H02 => Box::new(h02::H02),
        DeviceProtocol::Queclink => Box::new(queclink::Queclink),
    }
}
