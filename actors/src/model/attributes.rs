//! What a device says at a fix beside where it is: names and values, as one text of JSON. Knows no protocol.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// Most members; of several reports of one fix together, the first so many by name.
pub const MAX_ATTRIBUTES: usize = 64;
/// Most bytes of what one report of a fix says, as compact JSON.
pub const MAX_ATTRIBUTE_BYTES: usize = 4_096;
/// Most bytes of a name.
const MAX_NAME_BYTES: usize = 64;
/// Most bytes of a text.
const MAX_TEXT_BYTES: usize = 255;
/// Most members of a list.
const MAX_LISTED: usize = 16;

/// A value of an attribute.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum AttributeValue {
    /// True or false.
    Flag(bool),
    /// A finite number.
    Number(f64),
    /// A text.
    Text(String),
    /// Several flags, of `inputs` only.
    Flags(Vec<bool>),
    /// Several numbers, of `temperatureCelsius` only.
    Numbers(Vec<f64>),
}

/// Why an attribute is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttributeProblem {
    /// A name of other characters, or too long.
    #[error("a name has 1 to 64 of the characters A-Z, a-z, 0-9, _ and .")]
    Name,
    /// A number that is none, or a text that is too long.
    #[error("a value is true, false, a finite number or a text of at most 255 bytes")]
    Value,
    /// A known name with a value that it does not have; the text says what it has.
    #[error("{0}")]
    Known(&'static str),
    /// More members than [`MAX_ATTRIBUTES`].
    #[error("there are more than 64 of them")]
    TooMany,
    /// More bytes than [`MAX_ATTRIBUTE_BYTES`].
    #[error("they have more than 4096 bytes as compact JSON")]
    TooLarge,
}

impl Serialize for AttributeValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Number(number) => Plain(*number).serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Flags(flags) => flags.serialize(serializer),
            Self::Numbers(numbers) => serializer.collect_seq(numbers.iter().map(|number| Plain(*number))),
        }
    }
}

/// A number without a decimal point where it is whole.
struct Plain(f64);

impl Serialize for Plain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const EXACT: f64 = 9e15;
        if self.0.fract() == 0.0 && self.0.abs() < EXACT {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

impl From<f64> for AttributeValue {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for AttributeValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl AttributeValue {
    /// The value as it is kept under a name, or why it is not.
    fn checked(self, name: &str) -> Result<Self, AttributeProblem> {
        use AttributeProblem::Known;
        let within = |least: f64, most: f64, what: &'static str| match self {
            Self::Number(number) if (least..=most).contains(&number) => Ok(Self::Number(number)),
            _ => Err(Known(what)),
        };
        match name {
            "batteryPercent" => within(0.0, 100.0, "batteryPercent is a number from 0 to 100"),
            "externalVolts" => within(0.0, 1_000.0, "externalVolts is a number from 0 to 1000"),
            "hdop" => within(0.0, 100.0, "hdop is a number from 0 to 100"),
            "engineRpm" => within(0.0, 20_000.0, "engineRpm is a number from 0 to 20000"),
            "coolantCelsius" => within(-100.0, 300.0, "coolantCelsius is a number from -100 to 300"),
            "satellites" => match self {
                Self::Number(number) if (0.0..=255.0).contains(&number) && number.fract() == 0.0 => Ok(self),
                _ => Err(Known("satellites is a whole number from 0 to 255")),
            },
            "alarm" => match self {
                Self::Text(text) if (1..=MAX_NAME_BYTES).contains(&text.trim().len()) => {
                    Ok(Self::Text(text.trim().to_owned()))
                }
                _ => Err(Known("alarm is a text of 1 to 64 bytes")),
            },
            "driverCard" => match self {
                Self::Text(text) if text.trim().len() <= MAX_NAME_BYTES => {
                    Ok(Self::Text(text.trim().to_owned()))
                }
                _ => Err(Known("driverCard is a text of at most 64 bytes, empty if no card is there")),
            },
            "inputs" => match self {
                Self::Flag(flag) => Ok(Self::Flags(vec![flag])),
                Self::Flags(flags) if (1..=MAX_LISTED).contains(&flags.len()) => Ok(Self::Flags(flags)),
                _ => Err(Known("inputs is a list of up to 16 of true and false")),
            },
            "temperatureCelsius" => {
                let numbers = match self {
                    Self::Number(number) => vec![number],
                    Self::Numbers(numbers) => numbers,
                    _ => Vec::new(),
                };
                let fit = numbers.iter().all(|number| (-274.0..=2_000.0).contains(number));
                match fit && (1..=MAX_LISTED).contains(&numbers.len()) {
                    true => Ok(Self::Numbers(numbers)),
                    false => Err(Known("temperatureCelsius is a list of up to 16 numbers from -274 to 2000")),
                }
            }
            _ => match &self {
                Self::Flag(_) => Ok(self),
                Self::Number(number) if number.is_finite() => Ok(self),
                Self::Text(text) if text.len() <= MAX_TEXT_BYTES => Ok(self),
                _ => Err(AttributeProblem::Value),
            },
        }
    }
}

/// Attributes as they are collected.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewAttributes(BTreeMap<String, AttributeValue>);

impl NewAttributes {
    /// Adds one, or says why it is left out. Of two under one name the later counts.
    pub fn put(&mut self, name: &str, value: impl Into<AttributeValue>) -> Result<(), AttributeProblem> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
        if !(1..=MAX_NAME_BYTES).contains(&name.len()) || !name.bytes().all(is_name) {
            return Err(AttributeProblem::Name);
        }
        let value = value.into().checked(name)?;
        if self.0.len() >= MAX_ATTRIBUTES && !self.0.contains_key(name) {
            return Err(AttributeProblem::TooMany);
        }
        self.0.insert(name.to_owned(), value);
        Ok(())
    }

    /// Adds one that is known and fits; anything else counts as not said.
    pub fn note(&mut self, name: &str, value: Option<impl Into<AttributeValue>>) {
        if let Some(value) = value {
            self.put(name, value).ok();
        }
    }

    /// What was collected; `None` if that is nothing.
    pub fn seal(self) -> Result<Option<Attributes>, AttributeProblem> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let text = self.text();
        if text.len() > MAX_ATTRIBUTE_BYTES {
            return Err(AttributeProblem::TooLarge);
        }
        Ok(Some(Attributes(text.into())))
    }

    fn text(&self) -> String {
        serde_json::to_string(&self.0).expect("texts, flags and finite numbers")
    }
}

/// What a device says at a fix beside where it is: an object of 1 to [`MAX_ATTRIBUTES`] members, as compact JSON with
/// its names in order. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(value_type = BTreeMap<String, serde_json::Value>))]
pub struct Attributes(Arc<str>);

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Attributes {
    /// The object as compact JSON.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// What [`Self::as_json`] gave before. An error, if it is no object of attributes.
    pub fn from_json(text: &str) -> serde_json::Result<Self> {
        let known: BTreeMap<String, AttributeValue> = serde_json::from_str(text)?;
        if known.is_empty() {
            return Err(serde_json::Error::custom("attributes without a member"));
        }
        Ok(Self(text.into()))
    }

    /// One of them.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<AttributeValue> {
        self.members().remove(name)
    }

    fn members(&self) -> BTreeMap<String, AttributeValue> {
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    /// Makes one of two reports of the same fix, whichever came first: a member one of them lacks is filled in, and of
    /// two different values the smaller stays.
    #[must_use]
    pub fn merge(&self, other: &Self) -> Self {
        if self == other {
            return self.clone();
        }
        let mut members = self.members();
        for (name, value) in other.members() {
            match members.get_mut(&name) {
                Some(known) if rank(&value) < rank(known) => *known = value,
                Some(_) => {}
                None => {
                    members.insert(name, value);
                }
            }
        }
        while members.len() > MAX_ATTRIBUTES {
            members.pop_last();
        }
        Self(NewAttributes(members).text().into())
    }
}

/// An order of all values: flags, numbers, texts, lists.
fn rank(value: &AttributeValue) -> (u8, u64, String) {
    // The bits of doubles order as their numbers do once those of negative ones are turned round.
    let ordered = |number: f64| match number.to_bits() {
        bits if bits >> 63 == 0 => bits | 1 << 63,
        bits => !bits,
    };
    let text = || serde_json::to_string(value).unwrap_or_default();
    match value {
        AttributeValue::Flag(flag) => (0, u64::from(*flag), String::new()),
        AttributeValue::Number(number) => (1, ordered(*number), String::new()),
        AttributeValue::Text(text) => (2, 0, text.clone()),
        AttributeValue::Flags(_) => (3, 0, text()),
        AttributeValue::Numbers(_) => (4, 0, text()),
    }
}

impl Serialize for Attributes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).expect("made of JSON");
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let known = BTreeMap::<String, AttributeValue>::deserialize(deserializer)?;
        if known.is_empty() {
            return Err(D::Error::custom("attributes without a member"));
        }
        Ok(Self(NewAttributes(known).text().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(members: &[(&str, AttributeValue)]) -> Attributes {
        let mut new = NewAttributes::default();
        members.iter().for_each(|(name, value)| new.put(name, value.clone()).unwrap());
        new.seal().unwrap().unwrap()
    }

    #[test]
    fn known_ones_have_their_type_and_others_are_scalars() {
        let mut new = NewAttributes::default();
        for (name, value, problem) in [
            ("batteryPercent", 87.0.into(), None),
            ("batteryPercent", 101.0.into(), Some("batteryPercent is a number from 0 to 100")),
            ("satellites", 9.5.into(), Some("satellites is a whole number from 0 to 255")),
            ("alarm", "sos".into(), None),
            ("alarm", true.into(), Some("alarm is a text of 1 to 64 bytes")),
            ("temperatureCelsius", (-4.5).into(), None),
            ("inputs", AttributeValue::Flags(vec![true, false]), None),
            ("io.239", true.into(), None),
            ("door open", true.into(), Some("a name has 1 to 64 of the characters A-Z, a-z, 0-9, _ and .")),
            ("list", AttributeValue::Flags(vec![true]), Some("a value is true")),
            ("nan", f64::NAN.into(), Some("a value is true")),
        ] {
            let found = new.put(name, value).err().map(|problem| problem.to_string());
            let is_expected = match (&found, problem) {
                (Some(found), Some(part)) => found.starts_with(part),
                (None, None) => true,
                _ => false,
            };
            assert!(is_expected, "{name}: {found:?}");
        }
        assert_eq!(
            new.seal().unwrap().unwrap().as_json(),
            r#"{"alarm":"sos","batteryPercent":87,"inputs":[true,false],"io.239":true,"temperatureCelsius":[-4.5]}"#
        );
        assert_eq!(NewAttributes::default().seal(), Ok(None));
    }

    #[test]
    fn there_are_bounds() {
        let mut many = NewAttributes::default();
        (0..64).for_each(|n| many.put(&format!("a{n}"), f64::from(n)).unwrap());
        assert_eq!(many.put("a0", 1.0), Ok(()));
        assert_eq!(many.put("a64", 1.0), Err(AttributeProblem::TooMany));
        let mut large = NewAttributes::default();
        (0..17).for_each(|n| large.put(&format!("a{n}"), "x".repeat(240).as_str()).unwrap());
        assert_eq!(large.seal(), Err(AttributeProblem::TooLarge));
    }

    #[test]
    fn reports_of_one_fix_are_merged_in_any_order() {
        let one = of(&[("a", 2.0.into()), ("b", "x".into())]);
        let two = of(&[("a", (-3.0).into()), ("c", true.into())]);
        let three = of(&[("a", "text".into()), ("c", false.into())]);
        let expected = r#"{"a":-3,"b":"x","c":false}"#;
        for [first, second, third] in [[&one, &two, &three], [&three, &two, &one], [&two, &three, &one]] {
            assert_eq!(first.merge(second).merge(third).as_json(), expected);
            assert_eq!(first.merge(&second.merge(third)).as_json(), expected);
        }
    }

    #[test]
    fn they_come_back_from_their_text() {
        let all = of(&[("a", 0.1.into()), ("b", "\"x\n".into()), ("temperatureCelsius", (-1.5).into())]);
        assert_eq!(Attributes::from_json(all.as_json()).unwrap(), all);
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(text, all.as_json());
        assert_eq!(serde_json::from_str::<Attributes>(&text).unwrap(), all);
        assert!(Attributes::from_json("{}").is_err() && Attributes::from_json("[1]").is_err());
    }
}
