//! The walk over a JSON text counts the same parts as a reader of JSON.
#![no_main]

use std::fmt;

use libfuzzer_sys::fuzz_target;
use onehop_graphql_server::json_size::VariableLimits;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// Small, so that texts come to either side of each.
const LIMITS: VariableLimits = VariableLimits { bytes_max: 256, values_max: 16, depth_max: 4 };

fuzz_target!(|text: &str| {
    let verdict = LIMITS.check(text);
    if let Ok(counted) = serde_json::from_str::<Counted>(text) {
        let within = text.len() <= LIMITS.bytes_max
            && counted.values <= LIMITS.values_max
            && counted.depth <= LIMITS.depth_max;
        assert_eq!(verdict.is_ok(), within, "{counted:?}: {verdict:?}");
    }
});

/// The parts of a JSON value: keys and values, itself among them, and levels of lists and objects.
#[derive(Debug)]
struct Counted {
    values: usize,
    depth: usize,
}

const ONE: Counted = Counted { values: 1, depth: 0 };

impl Counted {
    fn with(&mut self, inner: &Self) {
        self.values += inner.values;
        self.depth = self.depth.max(inner.depth + 1);
    }
}

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Counter)
    }
}

struct Counter;

impl<'de> Visitor<'de> for Counter {
    type Value = Counted;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Counted, E> {
        Ok(ONE)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Counted, E> {
        Ok(ONE)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Counted, E> {
        Ok(ONE)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Counted, E> {
        Ok(ONE)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Counted, E> {
        Ok(ONE)
    }

    fn visit_str<E>(self, _: &str) -> Result<Counted, E> {
        Ok(ONE)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Counted, A::Error> {
        let mut counted = Counted { values: 1, depth: 1 };
        while let Some(item) = items.next_element::<Counted>()? {
            counted.with(&item);
        }
        Ok(counted)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Counted, A::Error> {
        let mut counted = Counted { values: 1, depth: 1 };
        while let Some((_, value)) = entries.next_entry::<String, Counted>()? {
            counted.values += 1;
            counted.with(&value);
        }
        Ok(counted)
    }
}
