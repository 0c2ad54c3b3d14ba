//! Why a server could not start.

use std::net::SocketAddr;

use waypost_actors::ports::StoreError;

use crate::auth::{AuthError, SetupError};
use crate::config::DeviceListener;
use crate::context::ContextError;
use crate::ingest::mqtt::MqttError;
use crate::mail::MailError;
use crate::store::cache::RedisError;
use crate::store::claim_session::SessionGone;
use crate::store::open::OpenError;
use crate::store::sql::{SqlError, is_unavailable};

/// Why the server could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is in use, or does not belong to this machine.
    #[error("cannot listen on {0} (another address: --listen)")]
    Listen(SocketAddr, #[source] std::io::Error),
    /// The address of a listener for devices cannot be had.
    #[error("cannot listen as {0} (deviceListeners)")]
    Devices(DeviceListener, #[source] std::io::Error),
    /// The settings of a broker cannot be used.
    #[error("cannot use {0} (mqttBrokers)")]
    Mqtt(String, #[source] MqttError),
    /// The nodes of a cluster share a PostgreSQL database.
    #[error("a cluster (nodeListen) needs the PostgreSQL database that its nodes share (databaseUrl)")]
    NoCluster,
    /// A node that joins was cut off from PostgreSQL meanwhile.
    #[error(transparent)]
    Session(#[from] SessionGone),
    /// A step of a shard's start took too long: the connection that it uses may have died unnoticed.
    #[error("the database did not answer in time")]
    TookTooLong,
    /// The store could not be opened.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The store could not be used.
    #[error("the database failed")]
    Database(#[from] SqlError),
    /// The live core could not be started.
    #[error(transparent)]
    Live(#[from] StoreError),
    /// The address of Redis cannot be read.
    #[error("redisUrl cannot be used")]
    Redis(#[from] RedisError),
    /// The mail settings cannot be used.
    #[error(transparent)]
    Mail(#[from] MailError),
    /// The signing keys could not be loaded or made.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The context shared by requests could not be built.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// The first superAdmin could not be made.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The server could not be run.
    #[error("the server cannot run")]
    Run(#[source] std::io::Error),
}

impl StartError {
    /// Whether the error may pass by itself, because the store is away.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Store(error) => error.is_passing(),
            Self::Database(error)
            | Self::Auth(AuthError::Store(error))
            | Self::Context(ContextError::Auth(AuthError::Store(error)))
            | Self::Setup(SetupError::Auth(AuthError::Store(error))) => is_unavailable(error),
            Self::Live(StoreError::Away(_)) | Self::Session(SessionGone) => true,
            _ => false,
        }
    }
}
