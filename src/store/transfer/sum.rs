//! The content of a table in two numbers: how many rows it has, and the sum of their digests.
//!
//! The sum does not depend on the order of the rows, and changes with every bit of every value. JSON is compared by
//! its meaning, because PostgreSQL does not keep its original text.

use std::fmt;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::binary::{field, json};
use super::table::{Kind, Table};
use crate::store::sql::{Result, SqlError};

/// The number of rows, and the sum of their digests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many rows.
    pub rows: u64,
    /// The first 128 bits of the SHA-256 of each row, added up modulo 2^128.
    pub digests: u128,
}

/// A table and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSum {
    /// Its name.
    pub table: String,
    /// Its rows.
    pub sum: Sum,
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows {:032x}", self.rows, self.digests)
    }
}

impl Sum {
    /// Adds a row, given by its fields.
    pub(super) fn add(&mut self, table: &Table, row: &[u8]) -> Result<()> {
        let mut digest = Sha256::new();
        let mut rest = row;
        for (_, kind) in &table.columns {
            let Some((value, after)) = field(rest) else {
                return Err(SqlError::Protocol("a row is shorter than its table is wide".into()));
            };
            let length = rest.len() - after.len();
            match (kind, value) {
                (Kind::Json, Some(value)) => digest.update(meaning(json(value))?),
                // Includes the length, so that fields cannot run together.
                _ => digest.update(&rest[..length]),
            }
            rest = after;
        }
        let digest = digest.finalize();
        let first = digest.first_chunk::<16>().expect("SHA-256 has 32 bytes");
        self.rows += 1;
        self.digests = self.digests.wrapping_add(u128::from_be_bytes(*first));
        Ok(())
    }
}

/// Bytes that are equal for equal JSON values, however they are written.
fn meaning(text: &[u8]) -> Result<Vec<u8>> {
    let value: Value = serde_json::from_slice(text).map_err(|error| SqlError::Decode(error.into()))?;
    let mut bytes = Vec::with_capacity(text.len());
    write(&value, &mut bytes);
    Ok(bytes)
}

fn write(value: &Value, to: &mut Vec<u8>) {
    let counted = |to: &mut Vec<u8>, tag: u8, count: usize| {
        to.push(tag);
        to.extend((count as u64).to_be_bytes());
    };
    match value {
        Value::Null => to.push(b'n'),
        Value::Bool(value) => to.push(if *value { b't' } else { b'f' }),
        Value::Number(number) => {
            to.push(b'0');
            // 1, 1.0 and 1e0 are the same number, and so are 0.0 and -0.0.
            to.extend((number.as_f64().unwrap_or(f64::NAN) + 0.0).to_bits().to_be_bytes());
        }
        Value::String(text) => {
            counted(to, b'"', text.len());
            to.extend(text.as_bytes());
        }
        Value::Array(items) => {
            counted(to, b'[', items.len());
            items.iter().for_each(|item| write(item, to));
        }
        Value::Object(members) => {
            counted(to, b'{', members.len());
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            for (name, member) in members {
                counted(to, b'"', name.len());
                to.extend(name.as_bytes());
                write(member, to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(one: &str, other: &str) -> bool {
        meaning(one.as_bytes()).unwrap() == meaning(other.as_bytes()).unwrap()
    }

    #[test]
    fn json_is_what_it_means() {
        assert!(same(r#"{"b": 1.0, "a": [1e2, -0.0, "x"]}"#, r#"{"a":[100,0,"x"],"b":1}"#));
        for (one, other) in [
            (r#"{"a": 1}"#, r#"{"a": 1.0000000000000002}"#),
            (r#"{"a": null}"#, "{}"),
            (r#"["ab","c"]"#, r#"["a","bc"]"#),
            ("[[],1]", "[[1]]"),
            ("true", "false"),
            (r#""1""#, "1"),
        ] {
            assert!(!same(one, other), "{one} {other}");
        }
    }

    #[test]
    fn the_order_of_rows_is_nothing_and_each_value_counts() {
        let table = Table {
            name: "t".into(),
            columns: vec![("a".into(), Kind::Text), ("b".into(), Kind::Text)],
            partitioned_by: None,
        };
        let row = |a: &str, b: &str| {
            let field = |text: &str| [&(text.len() as i32).to_be_bytes(), text.as_bytes()].concat();
            [field(a), field(b)].concat()
        };
        let sum = |rows: &[Vec<u8>]| {
            let mut sum = Sum::default();
            rows.iter().for_each(|row| sum.add(&table, row).unwrap());
            sum
        };
        let (one, other) = (row("a", "bc"), row("ab", "c"));
        assert_eq!(sum(&[one.clone(), other.clone()]), sum(&[other.clone(), one.clone()]));
        assert_ne!(sum(std::slice::from_ref(&one)), sum(std::slice::from_ref(&other)));
        assert_ne!(sum(&[one.clone(), one.clone()]), sum(&[other.clone(), other]));
        assert!(Sum::default().add(&table, &one[..3]).is_err());
    }
}
