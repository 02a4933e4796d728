//! History: the requests and answers of clients, in the order in which they happened.
//!
//! Everything that a client can change is a register: the title of a post, whether a user likes it, a
//! username. A write of a register lasts from its request to its answer; one without an answer may take
//! effect at any later time, or never. A read names the values that it saw.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;

/// The value of a register without anything: a post that is not there, for example.
pub const NOTHING: &str = "∅";

/// A moment of a history. Moments are numbered.
pub type Moment = u64;

/// A write of a register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    pub value: String,
    pub client: usize,
    pub start: Moment,
    /// `None` where the client got no answer.
    pub end: Option<Moment>,
}

/// The writes that a read has to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recent {
    /// Nothing in particular: a read without a position.
    Any,
    /// All writes of this client that were answered before.
    Own(usize),
    /// All writes that were answered before, as commands need for their decisions.
    All,
}

/// A read of a register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The copy that was read. Copies are as recent as each other only when all is quiet.
    pub view: String,
    pub value: String,
    pub recent: Recent,
    pub start: Moment,
    pub end: Moment,
}

/// A register, with a first value that was there before all writes.
#[derive(Debug, Clone, Default)]
pub struct Register {
    pub first: Option<String>,
    pub writes: Vec<Write>,
    pub reads: Vec<Read>,
}

/// A number that a command answered: how many registers with a prefix have a value.
#[derive(Debug, Clone)]
pub struct Count {
    pub prefix: String,
    pub value: &'static str,
    pub count: u64,
    pub start: Moment,
    pub end: Moment,
}

/// The use of an access token after its session ended.
#[derive(Debug, Clone)]
pub struct LateUse {
    /// The session, for the report of a violation.
    pub session: String,
    pub late_ms: i64,
}

/// An edit of a text that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edit {
    /// The version that the client had read, where the edit named one.
    pub of: Option<u64>,
    /// The version of the answer.
    pub version: u64,
    /// The begin of its first request.
    pub start: Moment,
    pub end: Moment,
}

/// A write that was answered, of a command that is refused where the register has its value already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    pub register: String,
    pub value: String,
    pub start: Moment,
    pub end: Moment,
}

/// A write that has begun.
#[derive(Debug, Clone)]
pub struct Begun {
    register: String,
    place: usize,
}

/// The removal of everything that a user has written, by the deletion of the account.
#[derive(Debug, Clone)]
struct Removal {
    user: String,
    start: Moment,
    is_refused: bool,
}

#[derive(Default)]
pub struct Recorded {
    moments: Moment,
    /// The user who owns a register, and whose deletion takes its value away.
    owners: BTreeMap<String, String>,
    removals: Vec<Removal>,
    /// Since when removals have surely ended, by user.
    removed: BTreeMap<String, Moment>,
    pub registers: BTreeMap<String, Register>,
    pub counts: Vec<Count>,
    /// Whether also reads without a position never go back: reads of a store without replicas.
    pub has_one_replica: bool,
    /// The ids that a creation with an idempotency key was answered.
    pub ids_of_keys: BTreeMap<String, BTreeSet<String>>,
    pub late_uses: Vec<LateUse>,
    /// The texts that each version of a register was shown with.
    pub versions: BTreeMap<(String, u64), BTreeSet<String>>,
    /// Edits that were answered, by register.
    pub edits: BTreeMap<String, Vec<Edit>>,
    pub transitions: Vec<Transition>,
    /// Broken promises that need no other record.
    pub broken: Vec<(&'static str, String)>,
    /// The number of answers of each kind.
    pub answers: BTreeMap<String, u64>,
}

/// The history of a run.
#[derive(Default)]
pub struct History(Mutex<Recorded>);

impl History {
    /// The store has no replicas.
    pub fn has_one_replica(&self) {
        self.0.lock().has_one_replica = true;
    }

    /// The next moment.
    pub fn now(&self) -> Moment {
        let mut recorded = self.0.lock();
        recorded.moments += 1;
        recorded.moments
    }

    pub fn begin(&self, register: &str, value: &str, client: usize) -> Begun {
        let start = self.now();
        let mut recorded = self.0.lock();
        let writes = &mut recorded.registers.entry(register.to_owned()).or_default().writes;
        writes.push(Write { value: value.to_owned(), client, start, end: None });
        Begun { register: register.to_owned(), place: writes.len() - 1 }
    }

    /// The write was answered.
    pub fn done(&self, write: &Begun) {
        let end = self.now();
        self.0.lock().registers.get_mut(&write.register).expect("a register").writes[write.place].end =
            Some(end);
    }

    /// The request was sent before, without an answer: that one may take effect at any later time.
    pub fn repeated(&self, write: &Begun) {
        let mut recorded = self.0.lock();
        let writes = &mut recorded.registers.get_mut(&write.register).expect("a register").writes;
        let unanswered = Write { end: None, ..writes[write.place].clone() };
        writes.push(unanswered);
    }

    /// The write was refused: it has no effect. It stays in the list with an impossible value, so that places
    /// stay.
    pub fn refused(&self, write: &Begun) {
        let mut recorded = self.0.lock();
        let refused =
            &mut recorded.registers.get_mut(&write.register).expect("a register").writes[write.place];
        (refused.value, refused.start) = (String::new(), Moment::MAX);
    }

    /// Names the user who wrote a register. The deletion of the account takes its value away.
    pub fn owned(&self, register: &str, user: &str) {
        self.0.lock().owners.insert(register.to_owned(), user.to_owned());
    }

    /// A user requested the deletion of the account. Returns its place for a refusal.
    pub fn removal_began(&self, user: &str) -> usize {
        let start = self.now();
        let mut recorded = self.0.lock();
        recorded.removals.push(Removal { user: user.to_owned(), start, is_refused: false });
        recorded.removals.len() - 1
    }

    pub fn removal_refused(&self, place: usize) {
        self.0.lock().removals[place].is_refused = true;
    }

    /// Everything of a deleted account is gone.
    pub fn removal_ended(&self, user: &str) {
        let now = self.now();
        self.0.lock().removed.insert(user.to_owned(), now);
    }

    /// Whether a write was refused.
    pub fn is_refused(&self, write: &Begun) -> bool {
        self.0.lock().registers[&write.register].writes[write.place].start == Moment::MAX
    }

    /// A value that is there from a moment on, written by a request that began before its register was known.
    pub fn written(&self, register: &str, write: Write) {
        self.0.lock().registers.entry(register.to_owned()).or_default().writes.push(write);
    }

    pub fn set_first(&self, register: &str, value: &str) {
        self.0.lock().registers.entry(register.to_owned()).or_default().first = Some(value.to_owned());
    }

    /// The same for a register without a write, as shown by a command whose own write got no answer.
    pub fn set_first_unless_written(&self, register: &str, value: &str) {
        let mut recorded = self.0.lock();
        let register = recorded.registers.entry(register.to_owned()).or_default();
        if register.first.is_none() && register.writes.is_empty() {
            register.first = Some(value.to_owned());
        }
    }

    pub fn read(&self, register: &str, read: Read) {
        self.0.lock().registers.entry(register.to_owned()).or_default().reads.push(read);
    }

    pub fn counted(&self, count: Count) {
        self.0.lock().counts.push(count);
    }

    pub fn created_by_key(&self, key: &str, id: &str) {
        self.0.lock().ids_of_keys.entry(key.to_owned()).or_default().insert(id.to_owned());
    }

    pub fn used_late(&self, late: LateUse) {
        self.0.lock().late_uses.push(late);
    }

    /// A version of a register was shown with this text.
    pub fn saw_version(&self, register: &str, version: u64, text: &str) {
        let place = (register.to_owned(), version);
        self.0.lock().versions.entry(place).or_default().insert(text.to_owned());
    }

    pub fn edited(&self, register: &str, edit: Edit) {
        self.0.lock().edits.entry(register.to_owned()).or_default().push(edit);
    }

    pub fn went_over(&self, transition: Transition) {
        self.0.lock().transitions.push(transition);
    }

    /// Whether a register may have another value than this one, by a write that ended later than the write of
    /// this value began.
    pub fn may_differ_from(&self, register: &str, value: &str, own: &Begun) -> bool {
        let recorded = self.0.lock();
        let Some(found) = recorded.registers.get(register) else { return true };
        let written = found.writes.iter().filter(|write| write.value == value).map(|write| write.start).min();
        let others = found.writes.iter().enumerate().filter(|(place, write)| {
            (own.register != register || *place != own.place)
                && write.start != Moment::MAX
                && write.value != value
        });
        others
            .map(|(_, write)| write)
            .any(|write| write.end.is_none_or(|end| written.is_none_or(|written| end >= written)))
    }

    pub fn error(&self, error: String) {
        self.broken("no internal error", error);
    }

    /// Records a broken promise.
    pub fn broken(&self, invariant: &'static str, detail: String) {
        self.0.lock().broken.push((invariant, detail));
    }

    /// The begin of the request that wrote a register, if no other one did.
    pub fn only_write_of(&self, register: &str) -> Option<Moment> {
        let recorded = self.0.lock();
        let owner = recorded.owners.get(register);
        if recorded.removals.iter().any(|removal| owner == Some(&removal.user)) {
            return None;
        }
        match &recorded.registers.get(register)?.writes[..] {
            [write] => Some(write.start),
            _ => None,
        }
    }

    /// Whether an answered write of a register began after a moment.
    pub fn is_written_after(&self, register: &str, moment: Moment) -> bool {
        let recorded = self.0.lock();
        let writes = recorded.registers.get(register).map_or(&[][..], |register| &register.writes);
        writes.iter().any(|write| write.end.is_some() && moment < write.start && write.start < Moment::MAX)
    }

    /// Whether the value of a register was taken away by a write that was answered before a moment, and no
    /// other write can have come after that: a creation that is sent again may bring an item back.
    pub fn is_gone_before(&self, register: &str, moment: Moment) -> bool {
        let recorded = self.0.lock();
        let Some(register) = recorded.registers.get(register) else { return false };
        let writes = || register.writes.iter().filter(|write| write.start != Moment::MAX);
        let may_follow = |removal: &Write| {
            writes().any(|write| write.value != NOTHING && write.end.is_none_or(|end| end > removal.start))
        };
        let is_over = |write: &&Write| write.value == NOTHING && write.end.is_some_and(|end| end < moment);
        writes().filter(is_over).any(|removal| !may_follow(removal))
    }

    /// Whether a write of a value may have had its effect after a moment.
    pub fn is_written_beside(&self, register: &str, value: &str, moment: Moment) -> bool {
        let recorded = self.0.lock();
        let writes = recorded.registers.get(register).map_or(&[][..], |register| &register.writes);
        let is_beside = |write: &Write| {
            write.value == value && write.start != Moment::MAX && write.end.is_none_or(|end| end > moment)
        };
        writes.iter().any(is_beside)
    }

    /// Whether an item was there before the last write of a register that a client knew at a moment. False
    /// for a register whose value was taken away, or may have been: copies keep the last one. False also for
    /// an item that may have been deleted: where that change is parked, its list has it as it was.
    pub fn was_there_before(&self, item: &str, register: &str, (client, moment): (usize, Moment)) -> bool {
        let recorded = self.0.lock();
        let writes = |name: &str| recorded.registers.get(name).map_or(&[][..], |register| &register.writes);
        let created = writes(item).first().and_then(|write| write.end);
        let is_known = |write: &&Write| write.client == client && write.end.is_some_and(|end| end < moment);
        let last = writes(register).iter().filter(is_known).map(|write| write.start).max();
        let may_be_gone =
            |name: &str| writes(name).iter().any(|write| write.value == NOTHING && write.start < Moment::MAX);
        if may_be_gone(register) || may_be_gone(item) {
            return false;
        }
        created.zip(last).is_some_and(|(created, last)| created < last && last < Moment::MAX)
    }

    pub fn answered(&self, kind: &str) {
        *self.0.lock().answers.entry(kind.to_owned()).or_default() += 1;
    }

    /// The names of registers that begin like this.
    pub fn registers_with(&self, prefix: &str) -> Vec<String> {
        self.0.lock().registers.keys().filter(|name| name.starts_with(prefix)).cloned().collect()
    }

    /// The values that were written to a register, or may have been.
    pub fn values_of(&self, register: &str) -> Vec<String> {
        let recorded = self.0.lock();
        let writes = recorded.registers.get(register).map_or(&[][..], |register| &register.writes);
        writes.iter().filter(|write| write.start != Moment::MAX).map(|write| write.value.clone()).collect()
    }

    pub fn take(&self) -> Recorded {
        std::mem::take(&mut *self.0.lock()).with_removals()
    }

    pub fn into_recorded(self) -> Recorded {
        self.0.into_inner().with_removals()
    }
}

impl Recorded {
    /// Adds the writes by which removals take values away. No client sent them.
    fn with_removals(mut self) -> Self {
        let Self { owners, removals, removed, registers, .. } = &mut self;
        for (name, owner) in owners {
            let Some(register) = registers.get_mut(name) else { continue };
            let value = if name.starts_with("like of ") { "0" } else { NOTHING };
            let gone = |start, end| Write { value: value.to_owned(), client: usize::MAX, start, end };
            let of_owner = removals.iter().filter(|removal| removal.user == *owner && !removal.is_refused);
            register.writes.extend(of_owner.map(|removal| gone(removal.start, None)));
            register.writes.extend(removed.get(owner).map(|ended| gone(*ended, Some(*ended))));
        }
        self
    }
}
