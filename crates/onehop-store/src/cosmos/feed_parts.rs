//! Feed parts: the requests into which the client divides a page of the change feed, one after the other.
//!
//! A range has a part for each physical partition that it lies in, and after a merge one for each range that
//! a continuation of before has a position for: the same physical partition is then asked several times. Only
//! all of them together say that there is nothing more.
//!
//! Source: `build_unordered_merge` of `azure_data_cosmos_driver` 1.0.0, and its continuation
//! (`models/continuation_token.rs`).

use azure_core::base64;
use azure_data_cosmos::feed::FeedRange as CosmosRange;
use azure_data_cosmos::models::EffectivePartitionKey;
use serde::Deserialize;

use crate::Continuation;

/// The prefix before the JSON of a continuation.
const VERSION: &str = "c1.";

#[derive(Deserialize)]
struct Token {
    root: Root,
}

#[derive(Deserialize)]
struct Root {
    #[serde(default)]
    active_tokens: Vec<RangedToken>,
}

#[derive(Deserialize)]
struct RangedToken {
    min_epk: String,
    max_epk: String,
}

/// The number of parts of a range that lies in these physical partitions; `None` where the continuation has
/// another form.
pub(super) fn count(
    range: &CosmosRange,
    leaves: &[CosmosRange],
    continuation: Option<&Continuation>,
) -> Option<usize> {
    let read = match continuation {
        Some(continuation) => ranges_of(continuation)?,
        None => Vec::new(),
    };
    let parts = leaves.iter().filter_map(|leaf| intersection(leaf, range)).map(|leaf| parts_of(&leaf, &read));
    Some(parts.sum())
}

/// The parts within one physical partition: the ranges that were read, and the gaps between them.
fn parts_of(leaf: &CosmosRange, read: &[CosmosRange]) -> usize {
    let (mut parts, mut place) = (0, leaf.min_inclusive().clone());
    for read in read.iter().filter_map(|read| intersection(read, leaf)) {
        parts += 1 + usize::from(place < *read.min_inclusive());
        place = read.max_exclusive().clone();
    }
    parts + usize::from(place < *leaf.max_exclusive())
}

/// The ranges that a continuation has a position for, in their order.
fn ranges_of(continuation: &Continuation) -> Option<Vec<CosmosRange>> {
    let json = base64::decode_url_safe(continuation.0.strip_prefix(VERSION)?).ok()?;
    let token: Token = serde_json::from_slice(&json).ok()?;
    let place = |text: String| EffectivePartitionKey::try_from(text).ok();
    let range = |token: RangedToken| CosmosRange::new(place(token.min_epk)?, place(token.max_epk)?).ok();
    let mut ranges: Vec<_> = token.root.active_tokens.into_iter().map(range).collect::<Option<_>>()?;
    ranges.sort_by(|one, other| one.min_inclusive().cmp(other.min_inclusive()));
    Some(ranges)
}

/// The common part, if any.
fn intersection(one: &CosmosRange, other: &CosmosRange) -> Option<CosmosRange> {
    let min = one.min_inclusive().max(other.min_inclusive());
    let max = one.max_exclusive().min(other.max_exclusive());
    (min < max).then(|| CosmosRange::new(min.clone(), max.clone()).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn range((min, max): (&str, &str)) -> CosmosRange {
        let place = |text: &str| EffectivePartitionKey::try_from(text.to_owned()).expect("a place");
        CosmosRange::new(place(min), place(max)).expect("a range")
    }

    fn continuation(ranges: &[(&str, &str)]) -> Continuation {
        let token = |(min, max): &(&str, &str)| {
            let server_continuation = "\"7\"";
            json!({ "min_epk": min, "max_epk": max, "server_continuation": server_continuation })
        };
        let tokens: Vec<_> = ranges.iter().map(token).collect();
        let json = json!({ "op": "ChangeFeed", "root": { "active_tokens": tokens } });
        Continuation(format!("{VERSION}{}", base64::encode_url_safe(json.to_string())))
    }

    #[test]
    fn a_range_has_a_part_for_each_partition_and_position() {
        let (one, two) = ([("", "FF")], [("", "40"), ("40", "FF")]);
        for (leaves, read, parts) in [
            (&one[..], None, 1),
            (&two[..], None, 2),
            (&one[..], Some(&[][..]), 1),
            (&one[..], Some(&one[..]), 1),
            (&two[..], Some(&one[..]), 2),
            (&one[..], Some(&two[..]), 2),
            (&one[..], Some(&[("40", "60")][..]), 3),
            (&two[..], Some(&[("20", "60")][..]), 4),
        ] {
            let leaves: Vec<_> = leaves.iter().copied().map(range).collect();
            let continuation = read.map(continuation);
            assert_eq!(count(&range(("", "FF")), &leaves, continuation.as_ref()), Some(parts), "{read:?}");
        }
        let within = count(&range(("", "40")), &[range(("", "FF"))], Some(&continuation(&two)));
        assert_eq!(within, Some(1), "positions of other ranges are left out");
    }

    #[test]
    fn a_continuation_of_another_form_has_unknown_parts() {
        for text in ["", "c1.", "c1.x", "c2.e30", "c1.e30"] {
            let continuation = Continuation(text.to_owned());
            assert_eq!(
                count(&CosmosRange::full(), &[CosmosRange::full()], Some(&continuation)),
                None,
                "{text}"
            );
        }
    }
}
