//! Problems of a model: each kind of mistake with its message, which names the expected form and the limit.

use thiserror::Error;

/// A mistake in a model.
#[derive(Debug, Clone, PartialEq, Error)]
pub(crate) enum Problem {
    // Syntax and limits.
    #[error("expected {expected}, found {found}")]
    Syntax { expected: String, found: String },
    #[error("too many {what}: the limit is {limit}")]
    TooLarge { what: &'static str, limit: usize },
    #[error("`{form}` has no place in a model: {instead}")]
    Unsupported { form: String, instead: String },

    // Directives.
    #[error("unknown directive @{directive} on {place}")]
    UnknownDirective { directive: String, place: String },
    #[error("@{directive} stands on {expected}")]
    WrongLocation { directive: String, expected: String },
    #[error("@{directive} stands twice on {place}; it is not repeatable")]
    RepeatedDirective { directive: String, place: String },
    #[error("unknown argument `{argument}` of @{directive}")]
    UnknownArgument { directive: String, argument: String },
    #[error("the argument `{argument}` of @{directive} stands twice")]
    RepeatedArgument { directive: String, argument: String },
    #[error("@{directive} needs the argument `{argument}`: {expected}")]
    MissingArgument { directive: String, argument: String, expected: String },
    #[error("wrong type of argument `{argument}` of @{directive}: expected {expected}")]
    WrongArgumentType { directive: String, argument: String, expected: String },
    #[error("unknown value `{value}`; expected one of {known}")]
    UnknownKeyword { value: String, known: String },
    #[error("@{first} and @{second} contradict each other on {place}, which has one role")]
    Contradiction { first: String, second: String, place: String },
    #[error("@{directive} cannot stand on {place}; allowed there: {admitted}")]
    NotAdmitted { directive: String, place: String, admitted: String },
    #[error("@{directive} cannot stand on {place}, which takes no directive")]
    NoDirective { directive: String, place: String },
    #[error("`{argument}` is {value}; it must be from {min} to {max}")]
    OutOfRange { argument: &'static str, value: i64, min: i64, max: i64 },
    #[error("@{directive} needs `min` or `max`")]
    NoBounds { directive: &'static str },
    #[error("`max` of @{directive} is below `min`")]
    BoundsSwapped { directive: &'static str },
    #[error("{what} is empty")]
    Empty { what: &'static str },

    // Names.
    #[error("unknown type `{name}`")]
    UnknownType { name: String },
    #[error("unknown container `{name}`")]
    UnknownContainer { name: String },
    #[error("unknown field `{field}` of {ty}")]
    UnknownField { ty: String, field: String },
    #[error("unknown value `{value}` of the enum {name}")]
    UnknownEnumValue { name: String, value: String },
    #[error("the {what} `{name}` stands twice")]
    Duplicate { what: &'static str, name: String },
    #[error("the name `{name}` belongs to the language")]
    ReservedName { name: String },

    // Schema and containers.
    #[error("the model has no name: expected `extend schema @model(name: \"..\")`")]
    NoModel,
    #[error("the key of a container has 1 to {max} paths; this one has {found}")]
    KeyPaths { found: usize, max: usize },
    #[error("a composite index has 2 to {max} paths; this one has {found}")]
    CompositePaths { found: usize, max: usize },
    #[error("`{name}` is no name of a container: 1 to {max} characters without / \\ # ? and quotes")]
    ContainerName { name: String, max: usize },
    #[error(
        "`{path}` is no path of a property: expected a name, or names after slashes such as `/contact/email`"
    )]
    PropertyPath { path: String },
    #[error("a followed container has the place ACCOUNT or MIRROR, as another application writes it")]
    FollowedInProcess,

    // Types.
    #[error("the type {name} needs @item or @embedded")]
    NoKindOfType { name: String },
    #[error("{name} is no item type: expected a type with @item")]
    NotAnItem { name: String },
    #[error("the field `id` of {ty} has the type `ID!`")]
    IdType { ty: String },
    #[error("`type` and @where contradict each other on {name}: @where stands in place of `type`")]
    TypeAndWhere { name: String },
    #[error("@where on a type has no `{argument}`; it has `path` with is, in, prefix or exists")]
    WhereOfType { argument: &'static str },
    #[error("@where on a field has no `{argument}`; it has `field` with is, in, exists, atLeast or below")]
    WhereOfField { argument: &'static str },
    #[error("@where needs {needed}")]
    WhereWithout { needed: &'static str },
    #[error("`write` has CREATE, UPDATE and DELETE; READ writes nothing")]
    WriteRead,
    #[error("the container `{container}` is followed: another application writes it")]
    WriteFollowed { container: String },
    #[error("{ty} is @hidden, so it has no generated mutations")]
    WriteHidden { ty: String },
    #[error("`{argument}` belongs to SOFT deletions; {mode} has none")]
    OnlySoft { argument: &'static str, mode: &'static str },
    #[error("{ty}.{field} must be a @unique String, as callers sign in by it")]
    LoginNotUnique { ty: String, field: String },
    #[error("{ty}.{field} can be null or is a list; an id is derived from single non-null fields")]
    IdFromNullable { ty: String, field: String },
    #[error("{ty}.{field} changes or is a list; a key and an id need a field that keeps its value")]
    NotConstant { ty: String, field: String },
    #[error("the stored text `{stored}` of the enum {name} stands for two values")]
    EnumValueTwice { name: String, stored: String },
    #[error("a value of an enum is stored as text and has no `format`")]
    EnumValueFormat,
    #[error("{ty} is @hidden, so no visible field has its type")]
    HiddenServed { ty: String },

    // Keys.
    #[error(
        "nothing in {ty} fills `{path}` of the key of the container `{container}`: name its field in `partition`"
    )]
    KeyUnfilled { ty: String, container: String, path: String },
    #[error(
        "the key of the container `{container}` has {paths} paths, and `partition` names {fields} fields"
    )]
    PartitionCount { container: String, paths: usize, fields: usize },
    #[error("{ty}.{field} can be null, so nothing fills the key of some items")]
    KeyNullable { ty: String, field: String },
    #[error(
        "nothing fills the key of the container `{container}`: it has {paths} paths, and `by` names {fields} fields"
    )]
    ListKeyCount { container: String, paths: usize, fields: usize },
    #[error(
        "nothing fills `{path}` of the key of the container `{container}`: without `by` it is `/type`, or the name or \
         property of a field that @where fixes with `is`"
    )]
    ListKeyVaries { container: String, path: String },
    #[error(
        "the key `{path}` of the container `{container}` is the {property} of each entry, so `{by}` cannot fill it: the list \
         needs a container with another key"
    )]
    ListKeyTaken { container: String, path: String, property: &'static str, by: String },
    #[error(
        "the key `{path}` of the container `{container}` is the {property} of each item, so `{by}` cannot fill it: {ty} \
         needs a container with another key"
    )]
    KeyTaken { ty: String, container: String, path: String, property: &'static str, by: String },
    #[error("the partition key of {ty} is {key}, not {by}: @partition reads one logical partition")]
    PartitionNotKey { ty: String, key: String, by: String },
    #[error("the partition key of {ty} varies; under Query @partition needs a constant key such as `/type`")]
    PartitionVaries { ty: String },
    #[error("an update of {ty}.{field} moves the item: the field is its partition key")]
    UpdateMoves { ty: String, field: String },
    #[error("an update of {ty}.{field} changes the id, which is derived from it")]
    UpdateChangesId { ty: String, field: String },
    #[error("{ty}.{field} is @immutable, so no update writes it")]
    UpdateImmutable { ty: String, field: String },
    #[error(
        "the key of {ty} is neither its id nor constant: @reference needs `partition` with {paths} fields that hold it"
    )]
    ReferenceNeedsPartition { ty: String, paths: usize },
    #[error("the key of {ty} is its id or constant, so @reference has no `partition`")]
    ReferenceWithPartition { ty: String },
    #[error(
        "two writers of one id: {first} and {second} write items with one id into one logical partition of `{container}`"
    )]
    TwoWriters { first: String, second: String, container: String },
    #[error("{first} and {second} have the same `type` in the container `{container}`")]
    SameType { first: String, second: String, container: String },
    #[error("two values of {ty} have the property `{path}`: {first} and {second}")]
    SameProperty { ty: String, path: String, first: String, second: String },
    #[error("the container `{container}` is in processes only, so it has lists and no items")]
    ItemInProcess { container: String },

    // Fields.
    #[error("the field `{field}` takes no arguments; the arguments of pages follow from @page")]
    FieldArguments { field: String },
    #[error("the field `{field}` is a list of lists; expected a type such as `[String!]!`")]
    NestedList { field: String },
    #[error("@{directive} on `{field}` expects the type {expected}")]
    WrongFieldType { directive: &'static str, field: String, expected: String },
    #[error("`{field}` has the item type {ty}: it needs @reference, @partition, @find or @list")]
    ItemWithoutRelation { field: String, ty: String },
    #[error("wrong value for `{field}`: expected {expected}")]
    WrongLiteral { field: String, expected: String },
    #[error("the format {format} belongs to fields of the type {needed}")]
    WrongFormat { format: &'static str, needed: &'static str },
    #[error("@unique on `{field}` expects a single String or ID, or an Int without `normalize`")]
    UniqueType { field: String },
    #[error("the former property `{path}` is the present one or stands twice")]
    FormerTwice { path: String },
    #[error("{ty}.{field} has no fields")]
    NotAnObject { ty: String, field: String },
    #[error("`{path}` goes through a reference; only fields that the item itself stores are allowed here")]
    PathThroughReference { path: String },
    #[error("items do not store `{path}`")]
    NotStored { path: String },
    #[error("`{path}` is or goes through a list; a condition needs a single value")]
    WhereOfList { path: String },
    #[error("`{by}` cannot follow `{field}`, which is no input")]
    NotWatchable { field: String, by: String },
    #[error("{function} takes {min} to {max} fields, not {found}")]
    ComputedArguments { function: &'static str, min: usize, max: usize, found: usize },
    #[error("{function} gives {form}")]
    ComputedTypes { function: &'static str, form: &'static str },
    #[error("{function} needs `length`, in characters")]
    ComputedLength { function: &'static str },
    #[error("{function} has no `length`")]
    ComputedWithoutLength { function: &'static str },
    #[error("`{path}` goes through a list, which {function} cannot")]
    ComputedThroughList { function: &'static str, path: String },
    #[error("SUM needs a path through a list, such as `lines.total`; `{path}` has none")]
    SumWithoutList { path: String },

    // References and copies.
    #[error("{ty}.{field} is no single @reference")]
    NotAReference { ty: String, field: String },
    #[error("{ty}.{field} is no @reference to {parent}, and {parent} has no such field")]
    NotAReferenceTo { ty: String, field: String, parent: String },
    #[error("{ty}.{field} is {found}, and {parent}.{field} is {own}: they need the same type")]
    OtherTypeInParent { ty: String, field: String, found: String, parent: String, own: String },
    #[error("no field of `by` is a @reference of {ty} to {parent}")]
    NoReferenceTo { ty: String, parent: String },
    #[error("{ty} has no field `{field}` to copy")]
    CopyLacks { ty: String, field: String },
    #[error(
        "{ty} has no field `{field}` to copy, only a copy beside `{reference}`: declare it as a field of {ty} \
         with `@copy(from: \"{reference}.{source_field}\")`, in the place of `{source_field}` in `fields`"
    )]
    CopyOfUndeclaredCopy { ty: String, field: String, reference: String, source_field: String },
    #[error("{ty}.{field} is not copied: it is an id, a reference, or not stored")]
    CopyUnstored { ty: String, field: String },
    #[error("@copy on the reference `{field}` has `fields`, not `from`")]
    CopyFromOnReference { field: String },
    #[error("@copy on the reference `{field}` needs `fields`")]
    CopyNothing { field: String },
    #[error("@copy has `fields` on a reference, or `from` on a scalar, not both")]
    CopyFieldsAndFrom,
    #[error("`{from}` is no origin of a copy: expected `reference.field`, or a frozen `Type.field`")]
    CopyForm { from: String },
    #[error("a copy of `{from}` has no reference to follow, so it needs `frozen: true`")]
    CopyNotFrozen { from: String },
    #[error("`{field}` has the type {ty}, and {origin} has {origin_type}")]
    CopyType { field: String, ty: String, origin: String, origin_type: String },
    #[error("a circle of copies: {circle}")]
    CopyCircle { circle: String },
    #[error("a circle of embedded types: {circle}")]
    EmbeddedCircle { circle: String },
    #[error("{ty} and its owner {owner} do not share a logical partition, so one batch cannot delete both")]
    OwnedElsewhere { ty: String, owner: String },
    #[error(
        "the container `{container}` is followed, so @{directive} is the application's: declare the stored field alone"
    )]
    FollowedField { container: String, directive: &'static str },

    // Related items.
    #[error("`{field}` is a list of items: expected a type such as `[Post!]!`")]
    RelatedType { field: String },
    #[error("@{directive} under Query has no `by` and no link: it has no parent")]
    ByUnderQuery { directive: &'static str },
    #[error(
        "a list under Query has one argument for each field of `by`, such as `tag: String!`: `by` has {by}, the field {arguments}"
    )]
    ListArguments { by: usize, arguments: usize },
    #[error(
        "no argument names a list by {ty}.{field}: `by` takes String, Int, Boolean and enums that items store"
    )]
    NotAListKey { ty: String, field: String },
    #[error("@{directive} needs `by`: the field of {ty} that refers to {parent}")]
    ByMissing { directive: &'static str, parent: String, ty: String },
    #[error("the link type {link} needs exactly one further reference to {ty}")]
    NoLink { link: String, ty: String },
    #[error("the container `{container}` is followed, so lists go elsewhere")]
    ListIntoFollowed { container: String },
    #[error("`keep` needs @order: the first entries are kept")]
    KeepWithoutOrder,
    #[error("entries cannot have {ty}.{path}: they have stored and computed fields, and references")]
    NotListable { ty: String, path: String },
    #[error("the deletions of {ty} are HARD and unseen, so no list has the type")]
    ListOverHard { ty: String },
    #[error(
        "no order by `{field}` of the type {ty}: an order needs a single stored ID, String, Int, Float, DateTime, Money, or \
         Decimal with `format: NUMBER`"
    )]
    NotOrderable { field: String, ty: String },

    // Counts and the caller.
    #[error("{ty}.{field} is no @partition, @find or @list")]
    NotRelated { ty: String, field: String },
    #[error("`{field}` keeps its first entries only, so their number is no count of items")]
    CountOfBounded { field: String },
    #[error("`within` belongs to counts that are kept BEHIND")]
    WithinOnlyBehind,
    #[error("the count `{field}` is a QUERY, so it has no property")]
    QueryCountStored { field: String },
    #[error(
        "a BATCH count across partitions: `{of}` is not in the logical partition of {ty}; keep it BEHIND or QUERY"
    )]
    BatchAcross { ty: String, of: String },
    #[error("@caller on `{field}` needs @reference, or `in` with a list")]
    CallerWithout { field: String },
    #[error("@caller on the reference `{field}` has no `in`")]
    CallerInOnReference { field: String },
    #[error("@caller under Query has no `in`")]
    CallerInUnderQuery,
    #[error("@caller on `{field}` needs an @account type, which {ty} is not")]
    CallerNotAccount { field: String, ty: String },
    #[error("`{field}` is a list; the caller is one account")]
    CallerList { field: String },
    #[error("the items of `{list}` name no caller: {ty} has no reference with @caller")]
    NoCallerIn { list: String, ty: String },

    // Authorization.
    #[error("@auth admits no caller: it needs `allow`, or `claim` with `has`")]
    AuthWithoutCaller,
    #[error("@auth on a field is for READ and UPDATE, not {action}")]
    AuthOfField { action: &'static str },
    #[error("@auth on an operation has no `on`: the operation is the action")]
    AuthOfOperation,
    #[error("`claim` needs `has`: the value of the claim")]
    ClaimWithoutHas,
    #[error("`has` needs `claim`: the name of the claim")]
    HasWithoutClaim,
    #[error("`owner` needs `allow: OWNER`")]
    OwnerWithoutAllow,
    #[error("items of {ty} have no owner: name it in `owner`, or mark a reference with @caller")]
    NoOwner { ty: String },
    #[error("`{path}` is no owner: expected references that end at an @account type, or its own `id`")]
    NotAnOwner { path: String },

    // Operations.
    #[error(
        "the root field `{field}` needs one argument that is `id` or @unique, or @caller, @partition, @find or @list"
    )]
    RootWithoutKind { field: String },
    #[error("the result of `{field}` has another type: expected `{expected}`")]
    RootType { field: String, expected: String },
    #[error("{ty}.{field} is neither `id` nor @unique, so it finds no single item")]
    ArgumentNotUnique { ty: String, field: String },
    #[error("the argument `{argument}` has the type `{expected}` and no default")]
    ArgumentType { argument: String, expected: String },
    #[error("the mutation `{field}` needs @writes")]
    MutationWithoutWrites { field: String },
    #[error("the mutation `{field}` takes no arguments; its input follows from the fields that it writes")]
    MutationArguments { field: String },
    #[error("a creation has no @where: there is no item yet")]
    WhereOnCreate,
    #[error("a deletion writes no `fields`")]
    DeleteWithFields,
    #[error("{ty}.{field} is no input")]
    NotInput { ty: String, field: String },
    #[error("the subscription `{field}` needs @live")]
    SubscriptionWithoutLive { field: String },
    #[error(
        "`{of}` is no source of events: expected a list such as `Query.feed` or `Post.comments`, or no `of` for the \
         events of one item"
    )]
    LiveForm { of: String },
    #[error("`{of}` is no list of {ty}")]
    LiveNotList { of: String, ty: String },
    #[error("no subscription to `{of}`: its arguments name a list of their own")]
    LiveOfArguments { of: String },
    #[error("the subscription `{field}` takes {expected}")]
    LiveArguments { field: String, expected: String },
    #[error("a single item is never ADDED; name a list in `of`")]
    ItemAdded,
}

impl Problem {
    /// The kind in words with dashes: `UnknownField` gives `unknown-field`.
    pub fn code(&self) -> String {
        let debug = format!("{self:?}");
        let name = debug.split([' ', '{', '(']).next().unwrap_or_default();
        let mut code = String::with_capacity(name.len() + 4);
        for (place, character) in name.chars().enumerate() {
            if character.is_ascii_uppercase() && place > 0 {
                code.push('-');
            }
            code.push(character.to_ascii_lowercase());
        }
        code
    }
}
