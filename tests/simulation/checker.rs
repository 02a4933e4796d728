//! Checker: whether a history can have happened in a system that keeps its promises.
//!
//! It knows no internals. It asks three questions of each read of a register. Did a client write this value?
//! Does the read lack a write that it has to show? Is it older than an earlier read of the same copy? A write
//! without an answer may take effect at any time after its request: it excuses the reads that it explains,
//! and no others.

use std::collections::BTreeMap;

use crate::history::{Count, Edit, Moment, NOTHING, Read, Recent, Recorded, Register, Write};

/// Milliseconds after its end in which a session's access token may still be good in another process.
pub const SESSION_GRACE_MS: i64 = 15_000;

/// A promise that a history breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub invariant: &'static str,
    pub detail: String,
}

fn violation(invariant: &'static str, detail: String) -> Violation {
    Violation { invariant, detail }
}

/// All violations of a history.
pub fn check(recorded: &Recorded) -> Vec<Violation> {
    let mut found = Vec::new();
    for (name, register) in &recorded.registers {
        check_reads(name, register, recorded.has_one_replica, &mut found);
    }
    check_names(recorded, &mut found);
    for count in &recorded.counts {
        check_count(recorded, count, &mut found);
    }
    for (key, ids) in recorded.ids_of_keys.iter().filter(|(_, ids)| ids.len() > 1) {
        found.push(violation("a repeated command is carried out once", format!("{key}: {ids:?}")));
    }
    check_versions(recorded, &mut found);
    check_transitions(recorded, &mut found);
    for late in recorded.late_uses.iter().filter(|late| late.late_ms > SESSION_GRACE_MS) {
        let detail = format!("session {} was used {} ms after its end", late.session, late.late_ms);
        found.push(violation("an ended session is refused", detail));
    }
    found.extend(recorded.broken.iter().map(|(invariant, detail)| violation(invariant, detail.clone())));
    found
}

/// A version stands for one text, and an edit of a version replaces no other one.
fn check_versions(recorded: &Recorded, found: &mut Vec<Violation>) {
    for ((register, version), texts) in recorded.versions.iter().filter(|(_, texts)| texts.len() > 1) {
        let detail = format!("version {version} of {register}: {texts:?}");
        found.push(violation("a version stands for one text", detail));
    }
    for (register, edits) in &recorded.edits {
        for (place, edit) in edits.iter().enumerate() {
            let Some(of) = edit.of else { continue };
            let is_replaced = |other: &&Edit| other.version > of && other.end < edit.start;
            let same_base = |other: &&Edit| other.of == edit.of;
            let later = edits[place + 1..].iter().find(same_base);
            if edit.version <= of || later.is_some() || edits.iter().any(|other| is_replaced(&other)) {
                let detail = format!("{register}: {edit:?} of {edits:?}");
                found.push(violation("an edit of a version replaces no other edit", detail));
            }
        }
    }
}

/// Between two transitions to a value lies a write of another one.
fn check_transitions(recorded: &Recorded, found: &mut Vec<Violation>) {
    for (place, one) in recorded.transitions.iter().enumerate() {
        let others = recorded.transitions[place + 1..].iter();
        for other in others.filter(|other| other.register == one.register && other.value == one.value) {
            let (from, until) = (one.start.min(other.start), one.end.max(other.end));
            let lies_between = |write: &&Write| {
                write.value != one.value && write.start < until && write.end.is_none_or(|end| end > from)
            };
            let writes = &recorded.registers[&one.register].writes;
            if !writes.iter().any(|write| lies_between(&write)) {
                let detail = format!("{one:?} and {other:?}, beside {writes:?}");
                found.push(violation("a condition holds for one command alone", detail));
            }
        }
    }
}

/// When a write surely had its effect; the first value had it before everything else.
fn surely_done(write: Option<&Write>) -> Option<Moment> {
    write.map_or(Some(0), |write| write.end)
}

/// The writes that a read may have seen. `None` is the first value.
fn candidates<'a>(register: &'a Register, read: &Read) -> Vec<Option<&'a Write>> {
    let written = register.writes.iter().filter(|write| write.value == read.value && write.start < read.end);
    let first = register.first.iter().filter(|first| **first == read.value).map(|_| None);
    written.map(Some).chain(first).collect()
}

/// Whether a write was over before another one began.
fn is_before(one: Option<&Write>, other: Option<&Write>) -> bool {
    match (surely_done(one), other) {
        (Some(done), Some(other)) => done < other.start,
        _ => false,
    }
}

fn is_shown(write: &Write, read: &Read) -> bool {
    let is_due = write.end.is_some_and(|end| end < read.start);
    match read.recent {
        Recent::Any => false,
        Recent::Own(client) => is_due && write.client == client,
        Recent::All => is_due,
    }
}

fn check_reads(name: &str, register: &Register, has_one_replica: bool, found: &mut Vec<Violation>) {
    for (place, read) in register.reads.iter().enumerate() {
        let seen = candidates(register, read);
        if seen.is_empty() {
            found.push(violation(
                "a value that was read was written",
                format!("{name}: {read:?}, {:?}", register.writes),
            ));
            continue;
        }
        let lacks =
            |write: &&Write| is_shown(write, read) && seen.iter().all(|seen| is_before(*seen, Some(write)));
        if let Some(lacked) = register.writes.iter().find(lacks) {
            let invariant = match read.recent {
                Recent::Own(_) => "a client reads its own writes",
                _ => "an acknowledged write is kept",
            };
            found.push(violation(
                invariant,
                format!("{name}: {read:?} lacks {lacked:?} of {:?}", register.writes),
            ));
        }
        let earlier = register.reads[..place].iter().filter(|earlier| {
            earlier.view == read.view
                && (has_one_replica || earlier.recent != Recent::Any && read.recent != Recent::Any)
                && earlier.end < read.start
        });
        for earlier in earlier {
            let before = candidates(register, earlier);
            // A write without an answer may have been lost again.
            let is_older = |seen: &Option<&Write>| {
                before.iter().all(|before| {
                    let is_lasting = !has_one_replica || surely_done(*before).is_some();
                    is_lasting && is_before(*seen, *before)
                })
            };
            if !before.is_empty() && seen.iter().all(is_older) {
                found.push(violation("reads never go back", format!("{name}: {read:?} after {earlier:?}")));
            }
        }
    }
}

/// A username or an e-mail address is held by one account at a time. The registers `name of …` have the names
/// that an account took.
fn check_names(recorded: &Recorded, found: &mut Vec<Violation>) {
    struct Hold<'a> {
        holder: &'a str,
        from: Moment,
        until: Moment,
    }
    let mut holds: BTreeMap<&str, Vec<Hold<'_>>> = BTreeMap::new();
    for (holder, register) in recorded.registers.iter().filter(|(name, _)| name.starts_with("name of ")) {
        for write in &register.writes {
            let Some(from) = write.end.filter(|_| write.value != NOTHING) else { continue };
            let others = register
                .writes
                .iter()
                .filter(|other| other.value != write.value && other.start != Moment::MAX);
            // A change that may have come after it releases the name when it begins, or later.
            let releases = others.filter(|other| other.end.is_none_or(|end| end > write.start));
            let until = releases.map(|other| other.start).min().unwrap_or(Moment::MAX);
            if from < until {
                holds.entry(&write.value).or_default().push(Hold { holder, from, until });
            }
        }
    }
    for (name, holds) in holds {
        for (place, one) in holds.iter().enumerate() {
            for other in &holds[place + 1..] {
                if one.holder != other.holder && one.from.max(other.from) < one.until.min(other.until) {
                    let writes = |hold: &Hold<'_>| &recorded.registers[hold.holder].writes;
                    let detail = format!(
                        "{name:?} is held by {}: {:?}, and {}: {:?}",
                        one.holder,
                        writes(one),
                        other.holder,
                        writes(other)
                    );
                    found.push(violation("a name has one holder", detail));
                }
            }
        }
    }
}

/// A count lies between the number of registers that surely have the value, and the number that may have it.
fn check_count(recorded: &Recorded, count: &Count, found: &mut Vec<Violation>) {
    let (mut least, mut most) = (0, 0);
    for (_, register) in recorded.registers.iter().filter(|(name, _)| name.starts_with(&count.prefix)) {
        let possible = possible_values(register, count.start, count.end);
        if possible.contains(&count.value) {
            most += 1;
            least += u64::from(possible.iter().all(|value| *value == count.value));
        }
    }
    if !(least..=most).contains(&count.count) {
        let detail = format!("{}: {} is not between {least} and {most}", count.prefix, count.count);
        found.push(violation("counts are exact", detail));
    }
}

/// The values that a register can have had at some moment between two.
fn possible_values(register: &Register, start: Moment, end: Moment) -> Vec<&str> {
    let writes: Vec<Option<&Write>> =
        register.writes.iter().filter(|write| write.start < end).map(Some).collect();
    let is_over = |write: &Option<&Write>| {
        writes.iter().flatten().any(|later| {
            is_before(*write, Some(later)) && later.end.is_some_and(|later_end| later_end < start)
        })
    };
    let first = register.first.as_deref().filter(|_| !is_over(&None));
    writes
        .iter()
        .filter(|write| !is_over(write))
        .flatten()
        .map(|write| write.value.as_str())
        .chain(first)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{History, Transition};

    fn read(recent: Recent, value: &str, (start, end): (Moment, Moment)) -> Read {
        Read { view: "post".to_owned(), value: value.to_owned(), recent, start, end }
    }

    fn write(value: &str, start: Moment, end: Option<Moment>) -> Write {
        Write { value: value.to_owned(), client: 1, start, end }
    }

    fn invariants(writes: &[Write], reads: &[Read]) -> Vec<&'static str> {
        let history = History::default();
        history.set_first("title", NOTHING);
        writes.iter().for_each(|write| history.written("title", write.clone()));
        reads.iter().for_each(|read| history.read("title", read.clone()));
        check(&history.into_recorded()).iter().map(|violation| violation.invariant).collect()
    }

    #[test]
    fn a_read_lacks_no_write_that_it_has_to_show() {
        let writes = [write("a", 1, Some(2)), write("b", 3, Some(4))];
        let lacks = |recent, value| invariants(&writes, &[read(recent, value, (5, 6))]);
        assert_eq!(lacks(Recent::Own(1), "a"), ["a client reads its own writes"]);
        assert_eq!(lacks(Recent::All, NOTHING), ["an acknowledged write is kept"]);
        assert!(lacks(Recent::Own(2), "a").is_empty() && lacks(Recent::Any, "a").is_empty());
        assert!(lacks(Recent::All, "b").is_empty());
        assert_eq!(lacks(Recent::Any, "c"), ["a value that was read was written"]);
    }

    #[test]
    fn a_write_without_an_answer_explains_what_it_can() {
        let writes = [write("a", 1, None), write("b", 3, Some(4))];
        assert!(invariants(&writes, &[read(Recent::All, "a", (5, 6))]).is_empty());
        assert!(!invariants(&writes, &[read(Recent::All, NOTHING, (5, 6))]).is_empty());
    }

    #[test]
    fn a_removal_takes_values_at_any_time_until_it_has_ended() {
        let lacks = |value: &str, ends: bool| {
            let history = History::default();
            history.set_first("comment c", NOTHING);
            history.owned("comment c", "ada");
            history.written("comment c", write("a", history.now(), Some(history.now())));
            history.removal_began("ada");
            if ends {
                history.removal_ended("ada");
            }
            history.read("comment c", read(Recent::All, value, (history.now(), history.now())));
            check(&history.into_recorded()).len()
        };
        assert_eq!([lacks("a", false), lacks(NOTHING, false)], [0, 0]);
        assert_eq!([lacks("a", true), lacks(NOTHING, true)], [1, 0]);
    }

    #[test]
    fn a_read_that_goes_back_is_found() {
        let writes = [write("a", 1, Some(2)), write("b", 3, None)];
        let reads = [read(Recent::Own(2), "b", (4, 5)), read(Recent::Own(2), "a", (6, 7))];
        assert_eq!(invariants(&writes, &reads), ["reads never go back"]);
    }

    #[test]
    fn an_edit_of_a_version_replaces_no_other_edit() {
        let found = |edits: &[Edit]| {
            let history = History::default();
            edits.iter().for_each(|edit| history.edited("post p", *edit));
            check(&history.into_recorded()).len()
        };
        let edit = |of, version, (start, end)| Edit { of, version, start, end };
        let first = edit(Some(1), 2, (1, 2));
        assert_eq!(found(&[first, edit(Some(2), 3, (3, 4))]), 0);
        assert_eq!(found(&[first, edit(None, 3, (3, 4))]), 0, "an edit of any version replaces all");
        assert_eq!(found(&[edit(None, 2, (1, 2)), edit(Some(1), 3, (3, 4))]), 1);
        assert_eq!(
            found(&[edit(None, 2, (1, 4)), edit(Some(1), 3, (3, 5))]),
            0,
            "they may have been at once"
        );
        assert_eq!(found(&[first, edit(Some(1), 3, (1, 3))]), 1, "one of them was behind the other");
        assert_eq!(found(&[edit(Some(1), 1, (1, 2))]), 1);
    }

    #[test]
    fn a_condition_holds_for_one_command_alone() {
        let found = |opened: Write| {
            let history = History::default();
            history.written("status", opened);
            for (start, end) in [(3, 4), (7, 8)] {
                let (register, value) = ("status".to_owned(), "CLOSED".to_owned());
                history.written("status", write("CLOSED", start, Some(end)));
                history.went_over(Transition { register, value, start, end });
            }
            check(&history.into_recorded()).len()
        };
        assert_eq!(found(write("OPEN", 1, Some(2))), 1, "it was open once");
        assert_eq!(found(write("OPEN", 5, Some(6))), 0);
        assert_eq!(found(write("OPEN", 1, None)), 0, "it may have been opened between");
        assert_eq!(found(write("OPEN", 9, Some(10))), 1);
    }

    #[test]
    fn a_version_stands_for_one_text() {
        let history = History::default();
        history.saw_version("post p", 1, "a");
        history.saw_version("post p", 2, "b");
        history.saw_version("post p", 1, "a");
        assert_eq!(check(&history.take()).len(), 0);
        history.saw_version("post p", 1, "a");
        history.saw_version("post p", 1, "b");
        assert_eq!(check(&history.into_recorded()).len(), 1);
    }

    #[test]
    fn a_name_has_one_holder_at_a_time() {
        let taken = |until: Moment| {
            let history = History::default();
            history.written("name of ada", write("x", 1, Some(2)));
            history.written("name of ada", write("y", until, Some(until + 1)));
            history.written("name of bob", write("x", 5, Some(6)));
            check(&history.into_recorded()).len()
        };
        assert_eq!((taken(4), taken(8)), (0, 1));
    }

    #[test]
    fn a_count_is_as_exact_as_the_history() {
        let counted = |count| {
            let history = History::default();
            history.set_first("like of p by ada", "0");
            history.set_first("like of p by bob", "0");
            history.written("like of p by ada", write("1", 1, Some(2)));
            history.written("like of p by bob", write("1", 1, None));
            history.counted(Count {
                prefix: "like of p by ".to_owned(),
                value: "1",
                count,
                start: 5,
                end: 6,
            });
            check(&history.into_recorded()).len()
        };
        assert_eq!([0, 1, 2, 3].map(counted), [1, 0, 0, 1]);
    }
}
