//! Enum values of directive arguments. A test compares them with the directive definitions.

/// A closed set of values that a directive argument takes.
pub trait Keyword: Copy + PartialEq + 'static {
    /// The name of the enum in the directive definitions.
    const ENUM: &'static str;
    /// Each value with its name, in the order of the definitions.
    const ALL: &'static [(&'static str, Self)];

    /// The value of a name.
    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// The name of a value.
    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| name)
    }
}

/// The place of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In the account.
    Account,
    /// In the account, and in each process, which reads it there at no charge.
    Mirror,
    /// In each process only.
    Process,
}

impl Keyword for Place {
    const ENUM: &'static str = "Place";
    const ALL: &'static [(&'static str, Self)] =
        &[("ACCOUNT", Self::Account), ("MIRROR", Self::Mirror), ("PROCESS", Self::Process)];
}

/// A kind of access to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// A new item.
    Create,
    /// A read.
    Read,
    /// A change of an item.
    Update,
    /// A deletion.
    Delete,
}

impl Keyword for Action {
    const ENUM: &'static str = "Action";
    const ALL: &'static [(&'static str, Self)] =
        &[("CREATE", Self::Create), ("READ", Self::Read), ("UPDATE", Self::Update), ("DELETE", Self::Delete)];
}

/// A group of callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// All callers.
    Public,
    /// Callers with a session.
    SignedIn,
    /// The account to which the item refers as its owner.
    Owner,
    /// Members of staff.
    Staff,
}

impl Keyword for Who {
    const ENUM: &'static str = "Who";
    const ALL: &'static [(&'static str, Self)] = &[
        ("PUBLIC", Self::Public),
        ("SIGNED_IN", Self::SignedIn),
        ("OWNER", Self::Owner),
        ("STAFF", Self::Staff),
    ];
}

/// A way in which deletions show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletionMode {
    /// A property marks deleted items until they expire.
    Soft,
    /// Items are removed, and the change feed does not show it.
    Hard,
    /// Items expire, and their entries with them.
    Ttl,
    /// The change feed of all versions shows deletions.
    AllVersions,
}

impl Keyword for DeletionMode {
    const ENUM: &'static str = "Deletion";
    const ALL: &'static [(&'static str, Self)] = &[
        ("SOFT", Self::Soft),
        ("HARD", Self::Hard),
        ("TTL", Self::Ttl),
        ("ALL_VERSIONS", Self::AllVersions),
    ];
}

/// The stored form of a time or number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Text: RFC 3339 for a time, digits for a decimal.
    Iso,
    /// A time as seconds since 1970.
    EpochSeconds,
    /// A time as milliseconds since 1970.
    EpochMillis,
    /// A decimal as a JSON number.
    Number,
}

impl Keyword for Format {
    const ENUM: &'static str = "Format";
    const ALL: &'static [(&'static str, Self)] = &[
        ("ISO", Self::Iso),
        ("EPOCH_SECONDS", Self::EpochSeconds),
        ("EPOCH_MILLIS", Self::EpochMillis),
        ("NUMBER", Self::Number),
    ];
}

/// The writer of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountMode {
    /// The command, in its batch.
    Batch,
    /// A projection, within a number of seconds.
    Behind,
    /// No writer: a query counts.
    Query,
}

impl Keyword for CountMode {
    const ENUM: &'static str = "Kept";
    const ALL: &'static [(&'static str, Self)] =
        &[("BATCH", Self::Batch), ("BEHIND", Self::Behind), ("QUERY", Self::Query)];
}

/// A function that computes a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// The start of a text, cut at a word boundary.
    Excerpt,
    /// A number as text with leading zeros, so that texts are ordered as numbers.
    Padded,
    /// The same value in another property.
    Same,
    /// A text in lower case.
    Lower,
    /// The product of numbers.
    Product,
    /// The sum over the elements of an array.
    Sum,
}

impl Keyword for Function {
    const ENUM: &'static str = "Function";
    const ALL: &'static [(&'static str, Self)] = &[
        ("EXCERPT", Self::Excerpt),
        ("PADDED", Self::Padded),
        ("SAME", Self::Same),
        ("LOWER", Self::Lower),
        ("PRODUCT", Self::Product),
        ("SUM", Self::Sum),
    ];
}

/// The normal form in which a value is unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normalize {
    /// The value as it is.
    Exact,
    /// Lower case.
    Lower,
    /// An e-mail address.
    Email,
    /// A username, with its look-alikes.
    Username,
}

impl Keyword for Normalize {
    const ENUM: &'static str = "Normalize";
    const ALL: &'static [(&'static str, Self)] = &[
        ("EXACT", Self::Exact),
        ("LOWER", Self::Lower),
        ("EMAIL", Self::Email),
        ("USERNAME", Self::Username),
    ];
}

/// An event of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// An item entered the list.
    Added,
    /// An item changed.
    Changed,
    /// An item left the list, or was deleted.
    Removed,
}

impl Keyword for Event {
    const ENUM: &'static str = "Event";
    const ALL: &'static [(&'static str, Self)] =
        &[("ADDED", Self::Added), ("CHANGED", Self::Changed), ("REMOVED", Self::Removed)];
}
