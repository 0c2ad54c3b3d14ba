//! Settings: one table of names, defaults and explanations, read from `waypost.toml`, then from
//! `WAYPOST_*` variables, then from flags of the same name. The later wins; an unknown name is refused.
//!
//! Knows nothing of what the settings are used for.

mod device_listener;
mod load;
mod mqtt_broker;
mod settings;
mod value;

pub use device_listener::{DeviceListener, DeviceProtocol};
pub use load::{ConfigError, InForce, Sources, file_name, flags, given_flags, in_force};
pub use mqtt_broker::{MqttBroker, MqttInput, MqttOutput, MqttPayload};
pub use settings::{INSTALLED_MAP, Setting, Settings, TABLE};
pub use value::{AdminListen, AllowedOrigin, LogFormat, Rate, Secret, Sender, SignUp, WebAddress};
