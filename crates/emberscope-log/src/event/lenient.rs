//! Values that Spark's versions write in several ways: numbers as numbers or as text, missing, null.

use borsh::{BorshDeserialize, BorshSerialize};
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// The last millisecond of the year 9999: nothing later is a time.
const LATEST_TIME_MS: i64 = 253_402_300_799_999;

/// Whether epoch milliseconds can be a time at all. Spark writes 0 or -1 for one that has not come, and
/// an unknown time is no time, never 1970.
#[inline(always)]
pub fn is_time(epoch_ms: i64) -> bool {
    0 < epoch_ms && epoch_ms <= LATEST_TIME_MS
}

/// An integer, a text that holds one, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct Int(pub Option<i64>);

/// An integer, something else, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntOrOther {
    /// An integer, possibly written as text.
    Int(i64),
    /// A value that is no integer.
    Other,
    /// No value, or null.
    #[default]
    Absent,
}

struct AnyVisitor;

impl<'de> Visitor<'de> for AnyVisitor {
    type Value = IntOrOther;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<IntOrOther, E> {
        Ok(IntOrOther::Int(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<IntOrOther, E> {
        Ok(i64::try_from(value).map_or(IntOrOther::Other, IntOrOther::Int))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<IntOrOther, E> {
        Ok(IntOrOther::Other)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<IntOrOther, E> {
        Ok(IntOrOther::Other)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<IntOrOther, E> {
        Ok(text.parse().map_or(IntOrOther::Other, IntOrOther::Int))
    }

    fn visit_unit<E: Error>(self) -> Result<IntOrOther, E> {
        Ok(IntOrOther::Absent)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<IntOrOther, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(IntOrOther::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<IntOrOther, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(IntOrOther::Other)
    }
}

impl<'de> Deserialize<'de> for IntOrOther {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyVisitor)
    }
}

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Int(match IntOrOther::deserialize(deserializer)? {
            IntOrOther::Int(value) => Some(value),
            IntOrOther::Other | IntOrOther::Absent => None,
        }))
    }
}

impl Int {
    /// The value as an unsigned id, if it is one.
    pub fn id(self) -> Option<u64> {
        self.0.and_then(|value| u64::try_from(value).ok())
    }

    /// The value as a small id, if it is one.
    pub fn small_id(self) -> Option<u32> {
        self.0.and_then(|value| u32::try_from(value).ok())
    }

    /// A time in epoch milliseconds; Spark writes 0 or -1 for one that has not come.
    pub fn time_ms(self) -> Option<i64> {
        self.0.filter(|time| is_time(*time))
    }
}

/// The integer fields of an object, in order; fields of other kinds are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntFields(pub Vec<(String, i64)>);

struct IntFieldsVisitor;

impl<'de> Visitor<'de> for IntFieldsVisitor {
    type Value = IntFields;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<IntFields, A::Error> {
        let mut fields = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, IntOrOther>()? {
            if let IntOrOther::Int(value) = value {
                fields.push((key, value));
            }
        }
        Ok(IntFields(fields))
    }
}

impl<'de> Deserialize<'de> for IntFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(IntFieldsVisitor)
    }
}

/// Text, or anything else as its JSON; null and absence are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct TextOrJson(pub Option<String>);

impl<'de> Deserialize<'de> for TextOrJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
        Ok(TextOrJson(match raw.get() {
            "null" => None,
            text if text.starts_with('"') => serde_json::from_str(text).ok(),
            json => Some(json.to_owned()),
        }))
    }
}
