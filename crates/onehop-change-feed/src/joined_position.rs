//! Joined positions: the positions of several writes as one, which is reached when all of them are.
//!
//! A joined position is bounded. Where it would name too many ends of writes, it concerns all writes to the
//! container before the wait, which is reached later and never earlier.

use std::collections::BTreeSet;

use super::position::Position;
use onehop_runtime::planted;
use onehop_store::{Continuation, PartitionHash};

/// Ends of writes that a joined position names, in all containers.
const WRITE_ENDS_MAX: usize = 32;
/// Logical partitions that a joined position names.
const WRITTEN_MAX: usize = 16;

impl Position {
    /// The position that is reached when both are. `is_past` compares two ends of one container, where the
    /// store can.
    pub(super) fn join(&self, other: &Self, is_past: impl Fn(&Continuation, &Continuation) -> bool) -> Self {
        let mut joined = Self {
            written: join_written(self.written.as_deref(), other.written.as_deref()),
            since_ms: self.since_ms.min(other.since_ms),
            ..Self::default()
        };
        let containers: BTreeSet<&String> = self.ends.keys().chain(other.ends.keys()).collect();
        for container in containers {
            let (end, writes) = join_ends(self.ends_in(container), other.ends_in(container), &is_past);
            joined.ends.insert(container.clone(), end);
            if !writes.is_empty() {
                joined.writes.insert(container.clone(), writes);
            }
        }
        joined.bound_writes();
        joined
    }

    /// `None` where the container is not concerned.
    fn ends_in(&self, container: &str) -> Option<ContainerEnds<'_>> {
        let feeds = self.ends.get(container)?.as_ref();
        Some(ContainerEnds { feeds, writes: self.writes.get(container).map_or(&[], Vec::as_slice) })
    }

    /// Names no more ends than fit: the containers with most ends are waited for as a whole.
    fn bound_writes(&mut self) {
        while self.writes.values().map(Vec::len).sum::<usize>() > planted::size(WRITE_ENDS_MAX, 4) {
            let largest = self.writes.iter().max_by_key(|(_, ends)| ends.len());
            let Some(container) = largest.map(|(container, _)| container.clone()) else { return };
            self.writes.remove(&container);
        }
    }
}

/// The part of a position about a container: the end of its change feeds, or the ends of the writes to it.
struct ContainerEnds<'a> {
    feeds: Option<&'a Continuation>,
    writes: &'a [Continuation],
}

/// The end of a container's change feeds and the ends of the writes to it, of two positions. Where one of
/// them does not know its ends, neither does the joined one.
fn join_ends(
    one: Option<ContainerEnds<'_>>,
    other: Option<ContainerEnds<'_>>,
    is_past: &impl Fn(&Continuation, &Continuation) -> bool,
) -> (Option<Continuation>, Vec<Continuation>) {
    let (one, other) = match (one, other) {
        (Some(one), Some(other)) => (one, other),
        (Some(only), None) | (None, Some(only)) => return (only.feeds.cloned(), only.writes.to_vec()),
        (None, None) => return (None, Vec::new()),
    };
    match (one.feeds, other.feeds) {
        (Some(one), Some(other)) if is_past(one, other) => (Some(one.clone()), Vec::new()),
        (Some(_), Some(other)) => (Some(other.clone()), Vec::new()),
        (None, None) if !one.writes.is_empty() && !other.writes.is_empty() => {
            (None, join_writes(one.writes, other.writes, is_past))
        }
        _ => (None, Vec::new()),
    }
}

/// The logical partitions of both; `None` where they are too many or not known.
fn join_written(
    one: Option<&[PartitionHash]>,
    other: Option<&[PartitionHash]>,
) -> Option<Vec<PartitionHash>> {
    let mut written = one?.to_vec();
    for hash in other? {
        if !written.contains(hash) {
            written.push(*hash);
        }
    }
    (written.len() <= planted::size(WRITTEN_MAX, 3)).then_some(written)
}

/// The ends of both, without an end behind which another one of the same logical partition is.
fn join_writes(
    one: &[Continuation],
    other: &[Continuation],
    is_past: &impl Fn(&Continuation, &Continuation) -> bool,
) -> Vec<Continuation> {
    let mut ends: Vec<Continuation> = Vec::new();
    for end in one.iter().chain(other) {
        if ends.iter().any(|known| known == end || is_past(known, end)) {
            continue;
        }
        ends.retain(|known| !is_past(end, known));
        ends.push(end.clone());
    }
    ends
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::position::PositionTarget;
    use onehop_store::{ContainerName, PartitionKey};

    /// An end `partition:number`: a larger number is past the smaller numbers of its partition.
    fn is_past(at: &Continuation, end: &Continuation) -> bool {
        let parts = |end: &Continuation| {
            let (partition, number) = end.0.split_once(':').expect("an end");
            (partition.to_owned(), number.parse::<u64>().expect("a number"))
        };
        let ((at_partition, at), (end_partition, end)) = (parts(at), parts(end));
        at_partition == end_partition && at >= end
    }

    fn end(text: &str) -> Continuation {
        Continuation(text.to_owned())
    }

    /// The position of a write to a logical partition of `posts`, on a store that knows the ends of writes.
    fn of_write(partition: &str, number: u64) -> Position {
        Position {
            ends: BTreeMap::from([("posts".to_owned(), None)]),
            written: Some(vec![PartitionHash::of(ContainerName("posts"), &PartitionKey::from(partition))]),
            since_ms: i64::try_from(number).expect("a time"),
            writes: BTreeMap::from([("posts".to_owned(), vec![end(&format!("{partition}:{number}"))])]),
        }
    }

    /// The position of a write on a store that knows the end of its change feeds.
    fn of_feeds(containers: &[&str], number: u64) -> Position {
        let ends =
            containers.iter().map(|name| ((*name).to_owned(), Some(end(&format!("sequence:{number}")))));
        Position { ends: ends.collect(), written: Some(Vec::new()), ..Position::default() }
    }

    #[test]
    fn a_joined_position_has_the_writes_of_both() {
        for (one, other) in [(of_write("p", 10), of_write("q", 4)), (of_write("q", 4), of_write("p", 10))] {
            let joined = one.join(&other, is_past);
            let Some(PositionTarget::Writes(writes)) = joined.target(ContainerName("posts")) else {
                panic!("{joined:?}")
            };
            assert!(writes.contains(&end("p:10")) && writes.contains(&end("q:4")), "{writes:?}");
            assert_eq!((joined.since_ms, joined.written.map(|written| written.len())), (4, Some(2)));
        }
    }

    #[test]
    fn of_writes_to_one_partition_the_last_is_named_in_any_order() {
        for (one, other) in [(10, 11), (11, 10), (11, 11)] {
            let joined = of_write("p", one).join(&of_write("p", other), is_past);
            assert_eq!(joined.writes["posts"], [end("p:11")]);
            assert_eq!(joined.written.map(|written| written.len()), Some(1));
        }
    }

    #[test]
    fn a_joined_position_has_the_containers_of_both() {
        for (one, other) in [
            (of_feeds(&["posts", "users"], 5), of_feeds(&["productMeta", "users"], 7)),
            (of_feeds(&["productMeta", "users"], 7), of_feeds(&["posts", "users"], 5)),
        ] {
            let joined = one.join(&other, is_past);
            let ends: Vec<_> = joined
                .ends
                .iter()
                .map(|(name, end)| (name.as_str(), end.as_ref().unwrap().0.as_str()))
                .collect();
            assert_eq!(
                ends,
                [("posts", "sequence:5"), ("productMeta", "sequence:7"), ("users", "sequence:7")]
            );
        }
    }

    #[test]
    fn a_write_whose_end_is_not_known_stays_unknown() {
        let unknown = Position { writes: BTreeMap::new(), ..of_write("p", 10) };
        for (one, other) in [(unknown.clone(), of_write("q", 4)), (of_write("q", 4), unknown.clone())] {
            let joined = one.join(&other, is_past);
            assert!(
                matches!(joined.target(ContainerName("posts")), Some(PositionTarget::Unknown)),
                "{joined:?}"
            );
        }
    }

    #[test]
    fn a_position_of_many_writes_waits_for_the_whole_container() {
        let writes = |count: u64| {
            let of = (0..count).map(|number| of_write(&format!("p{number}"), number));
            of.reduce(|one, other| one.join(&other, is_past)).expect("a write")
        };
        let most = writes(WRITE_ENDS_MAX as u64);
        assert!(matches!(most.target(ContainerName("posts")), Some(PositionTarget::Writes(_))));
        let meta = Position {
            ends: BTreeMap::from([("productMeta".to_owned(), None)]),
            writes: BTreeMap::from([("productMeta".to_owned(), vec![end("m:1")])]),
            ..of_write("m", 1)
        };
        let more = most.join(&meta, is_past);
        assert!(matches!(more.target(ContainerName("posts")), Some(PositionTarget::Unknown)), "{more:?}");
        assert!(matches!(more.target(ContainerName("productMeta")), Some(PositionTarget::Writes(_))));
        assert_eq!(more.written, None);
        assert!(matches!(
            more.join(&of_write("p0", 99), is_past).target(ContainerName("posts")),
            Some(PositionTarget::Unknown)
        ));
    }
}
