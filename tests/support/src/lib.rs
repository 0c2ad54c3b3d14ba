//! The basis of the tests: a private PostgreSQL and Redis, a store per test, waiting with a deadline.
//!
//! Owns the servers of one test binary, from start to the last left-over file. Knows the store's way
//! of opening, and nothing of what a test asks.
//!
//! A suite of store tests is written once and named once per engine:
//!
//! ```ignore
//! waypost_test_support::for_each_engine!(a_dropped_transaction_rolls_back);
//!
//! async fn a_dropped_transaction_rolls_back(store: TestStore) {}
//! ```
//!
//! cargo then lists `sqlite::a_dropped_…` and `postgres::a_dropped_…`. Where PostgreSQL or Redis is not
//! installed, their tests say so and pass; `WAYPOST_TEST_REQUIRE=postgresql,redis` makes that a failure. So it is with the broker, mosquitto.

mod eventually;
mod garbled;
mod in_process;
mod mosquitto;
mod positions;
mod postgres;
mod program;
mod programs;
mod proxy;
mod redis;
mod report;
mod said;
mod secrets;
mod service;
mod store;

pub use eventually::{Attempt, eventually};
pub use garbled::each_input;
pub use in_process::{Running, new_account, sign_in};
pub use mosquitto::{Heard, Mosquitto, Subscribed};
pub use positions::stored_positions;
pub use postgres::{PrivatePostgres, Shutdown, postgres};
pub use program::{Launch, NODE_LISTEN, PASSWORD, Program, ROOT, port_for_restarts};
pub use proxy::Proxy;
pub use redis::{PrivateRedis, redis};
pub use said::{Said, text};
pub use secrets::{looks_secret, secrets_of};
pub use service::scratch;
pub use store::{TestStore, copy_migrated, run};
pub use waypost::store::sql::Engine;

/// Makes two tests of each `async fn name(store: TestStore)`: `sqlite::name` and `postgres::name`.
#[macro_export]
macro_rules! for_each_engine {
    ($($test:ident),+ $(,)?) => {
        mod sqlite {
            $(#[test]
            fn $test() {
                $crate::run($crate::Engine::Sqlite, super::$test);
            })+
        }
        mod postgres {
            $(#[test]
            fn $test() {
                $crate::run($crate::Engine::Postgres, super::$test);
            })+
        }
    };
}
