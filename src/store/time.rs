//! Instants in the store: `timestamptz` on PostgreSQL, integer microseconds on SQLite, where text would not sort
//! correctly.

use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArgumentBuffer, PgHasArrayType, PgTypeInfo, PgValueRef};
use sqlx::sqlite::{SqliteArgumentsBuffer, SqliteTypeInfo, SqliteValueRef};
use sqlx::{Decode, Encode, Postgres, Sqlite, Type};
use waypost_actors::model::Timestamp;

/// 2000-01-01T00:00:00Z in microseconds since 1970: where PostgreSQL counts from.
pub(super) const POSTGRES_EPOCH_MICROS: i64 = 946_684_800_000_000;

/// The first instant after another.
pub(super) fn just_after(instant: Timestamp) -> Timestamp {
    Timestamp::from_micros(instant.as_micros().saturating_add(1))
}

/// The last instant before another.
pub fn just_before(instant: Timestamp) -> Timestamp {
    Timestamp::from_micros(instant.as_micros().saturating_sub(1))
}

/// An instant as a column or a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Timestamp);

impl From<Timestamp> for Time {
    fn from(instant: Timestamp) -> Self {
        Self(instant)
    }
}

impl From<Time> for Timestamp {
    fn from(time: Time) -> Self {
        time.0
    }
}

impl Type<Sqlite> for Time {
    fn type_info() -> SqliteTypeInfo {
        <i64 as Type<Sqlite>>::type_info()
    }
    fn compatible(ty: &SqliteTypeInfo) -> bool {
        <i64 as Type<Sqlite>>::compatible(ty)
    }
}

impl<'q> Encode<'q, Sqlite> for Time {
    fn encode_by_ref(&self, buf: &mut SqliteArgumentsBuffer) -> Result<IsNull, BoxDynError> {
        Encode::<Sqlite>::encode_by_ref(&self.0.as_micros(), buf)
    }
}

impl<'r> Decode<'r, Sqlite> for Time {
    fn decode(value: SqliteValueRef<'r>) -> Result<Self, BoxDynError> {
        Ok(Self(Timestamp::from_micros(<i64 as Decode<Sqlite>>::decode(value)?)))
    }
}

impl Type<Postgres> for Time {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_name("timestamptz")
    }
}

impl PgHasArrayType for Time {
    fn array_type_info() -> PgTypeInfo {
        PgTypeInfo::with_name("_timestamptz")
    }
}

impl Encode<'_, Postgres> for Time {
    fn encode_by_ref(&self, buf: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        Encode::<Postgres>::encode_by_ref(&(self.0.as_micros() - POSTGRES_EPOCH_MICROS), buf)
    }
}

impl<'r> Decode<'r, Postgres> for Time {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        // Always in binary form, because every statement here is prepared.
        let micros = i64::from_be_bytes(value.as_bytes()?.try_into()?);
        Ok(Self(Timestamp::from_micros(micros + POSTGRES_EPOCH_MICROS)))
    }
}
