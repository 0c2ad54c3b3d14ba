//! A table to transfer: its columns, their types, and the statements that read and write it.

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bytes,
    Time,
    Boolean,
    Small,
    Integer,
    Float,
    Text,
    Json,
}

impl Kind {
    pub(super) fn of_postgres(name: &str) -> Option<Self> {
        Some(match name {
            "uuid" | "bytea" => Self::Bytes,
            "timestamp with time zone" => Self::Time,
            "boolean" => Self::Boolean,
            "smallint" => Self::Small,
            "bigint" => Self::Integer,
            "double precision" => Self::Float,
            "text" => Self::Text,
            "jsonb" => Self::Json,
            _ => return None,
        })
    }

    /// SQLite has fewer types: instants and booleans are integers there, JSON is text.
    pub(super) fn of_sqlite(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "blob" => Self::Bytes,
            "integer" => Self::Integer,
            "real" => Self::Float,
            "text" => Self::Text,
            _ => return None,
        })
    }
}

/// A table and its columns.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<(String, Kind)>,
    /// The column by whose time it is partitioned.
    pub(super) partitioned_by: Option<String>,
}

impl Table {
    fn names(&self) -> String {
        let names: Vec<String> = self.columns.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        names.join(", ")
    }

    pub(super) fn select(&self) -> String {
        format!("select {} from {}", self.names(), self.name)
    }

    pub(super) fn copy_in(&self) -> String {
        format!("copy {} ({}) from stdin (format binary)", self.name, self.names())
    }

    /// Copies from a query, because a partitioned table itself cannot be copied out.
    pub(super) fn copy_out(&self) -> String {
        format!("copy ({}) to stdout (format binary)", self.select())
    }
}
