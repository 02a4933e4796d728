//! Plans: an operation as its reads and the bytes that are written around the results.

use onehop_model::Grants;

use super::arguments::{DesignArgument, IdsArgument, RangeArguments};
use super::schema::{CursorFormat, IdFormat, PlannedType};
use crate::domain::stored_json::{MemberSlot, StoredMembers, StoredShape};
use crate::served::{ListPlace, TypeIndex};

/// The plan of an operation.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) roots: Fields<RootValue>,
    /// Variables that name the design of a model: a plan reads one design.
    pub(super) designs: Vec<DesignArgument>,
    /// Bytes of memory, estimated.
    pub(super) bytes: usize,
}

/// The fields of an object, in the order of the response.
#[derive(Debug)]
pub(super) struct Fields<V> {
    pub(super) fields: Vec<PlannedField<V>>,
    /// Bytes that each such object takes from the response budget, without its texts, lists and nulls.
    pub(super) bytes: usize,
}

impl<V> Default for Fields<V> {
    fn default() -> Self {
        Self { fields: Vec::new(), bytes: 0 }
    }
}

/// A field of an object.
#[derive(Debug)]
pub(super) struct PlannedField<V> {
    /// The text before the value: a brace or a comma, the key, and a colon.
    pub(super) before: Box<[u8]>,
    /// The number of selections of the field: the response budget counts each time.
    pub(super) times: usize,
    pub(super) value: V,
}

/// The value of a field at the root.
#[derive(Debug)]
pub(super) enum RootValue {
    Constant(Box<[u8]>),
    Point(IdsArgument, PointPlan),
    /// The object behind the id decides. The general executor answers for types without a plan.
    Node(IdsArgument, Vec<PointPlan>),
    /// The objects behind many ids.
    Nodes(IdsArgument, Vec<PointPlan>),
    Caller(PointPlan),
    List(Box<ListPlan>),
}

/// An object that is read by itself, and the lists below it.
#[derive(Debug)]
pub(super) struct PointPlan {
    pub(super) of: PlannedType,
    pub(super) item: ItemShape,
    /// The condition on the caller that the place of the item decides, where others get null.
    pub(super) place_guard: Option<PlaceGuard>,
    pub(super) guard: Option<Guard>,
    pub(super) object: Fields<ObjectValue>,
    pub(super) lists: Vec<ListPlan>,
    /// The item that is read together with this one, and without which it is absent.
    pub(super) beside: Option<BesidePlan>,
    pub(super) caller_item: Option<CallerItem>,
}

/// The members of an item, with those that tell whether it is one.
#[derive(Debug)]
pub(super) struct ItemShape {
    pub(super) shape: StoredShape,
    pub(super) item_type: MemberSlot,
    pub(super) type_value: &'static str,
    pub(super) deleted: MemberSlot,
}

impl ItemShape {
    /// Whether an item with these members is of its type and not deleted.
    pub(super) fn is_present(&self, members: &StoredMembers<'_>) -> bool {
        members.is_text(self.item_type, self.type_value) && !members.flag(self.deleted)
    }
}

/// An item that is read together with another one of its logical partition, whose key is its id.
#[derive(Debug)]
pub(super) struct BesidePlan {
    pub(super) ty: TypeIndex,
    pub(super) item: ItemShape,
}

/// The item of the caller in a list, by an id that is derived from both.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallerItem {
    pub(super) ty: TypeIndex,
    /// The number of selections.
    pub(super) times: usize,
    /// Whether the list is of the item that is read together with this one.
    pub(super) of_beside: bool,
}

/// A condition on the caller that an item decides.
#[derive(Debug)]
pub(super) struct Guard {
    pub(super) model: usize,
    pub(super) grants: Grants,
    /// The member with the id of each owner; `None` where that takes another read.
    pub(super) owners: Vec<Option<MemberSlot>>,
}

/// A condition on the caller that the place of an item decides.
#[derive(Debug)]
pub(super) struct PlaceGuard {
    pub(super) grants: Grants,
    pub(super) owners: Vec<PlaceOwner>,
}

/// The part of a place that is the id of the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaceOwner {
    Id,
    Partition,
}

/// The value of a field of an object.
#[derive(Debug)]
pub(super) enum ObjectValue {
    Constant(Box<[u8]>),
    Scalar(ScalarMember),
    Scalars {
        slot: MemberSlot,
        kind: ScalarKind,
        missing: Missing,
    },
    GlobalId(GlobalIdSource),
    Money(MoneySource, Fields<MoneyMember>),
    CreationDateOfId(MemberSlot),
    HasCaller,
    Right(Right),
    /// A field for callers of its own.
    Guarded(Guard, Box<ObjectValue>),
    /// The target of a reference, as far as copies beside the reference show it.
    Target {
        id: MemberSlot,
        missing: Missing,
        guard: Option<Guard>,
        fields: Fields<ObjectValue>,
    },
    /// The targets of a list of references.
    Targets {
        slot: MemberSlot,
        elements: TargetElements,
        guard: Option<Guard>,
        fields: Fields<ObjectValue>,
    },
    Embedded {
        slot: MemberSlot,
        missing: Missing,
        shape: StoredShape,
        fields: Fields<ObjectValue>,
    },
    EmbeddedList {
        slot: MemberSlot,
        missing: Missing,
        shape: StoredShape,
        fields: Fields<ObjectValue>,
    },
    /// A field of the item that was read together with this one.
    Beside(Fields<ObjectValue>),
    /// A field that an entry lacks, of the whole item.
    OfWhole {
        value: Box<ObjectValue>,
        excerpt: Option<MemberSlot>,
    },
    /// By its place among the lists of the object that is read.
    List(usize),
}

/// A stored or computed value without fields.
#[derive(Debug)]
pub(super) struct ScalarMember {
    pub(super) slot: MemberSlot,
    pub(super) kind: ScalarKind,
    pub(super) missing: Missing,
}

/// The API form of a stored value.
#[derive(Debug, Clone)]
pub(super) enum ScalarKind {
    Text,
    Int,
    Float,
    Boolean,
    /// The stored texts of an enum with the names of its values.
    Enum(Vec<(Box<str>, Box<[u8]>)>),
    /// A number of units since 1970, each of this many milliseconds.
    Epoch {
        unit_ms: i64,
    },
    /// A decimal that is stored as a number.
    DecimalNumber,
}

/// The value of a field whose property is absent.
#[derive(Debug)]
pub(super) enum Missing {
    /// Nothing that a plan knows.
    Unplanned,
    Null,
    EmptyList,
    /// JSON, and its bytes in the response budget.
    Constant(Box<[u8]>, usize),
    /// The excerpt of a text.
    Excerpt {
        text: MemberSlot,
        characters: usize,
    },
    /// The value of a computation on the decoded item.
    Computed(ComputedField),
}

/// A field that is computed from the decoded item.
#[derive(Debug)]
pub(super) struct ComputedField {
    pub(super) model: usize,
    pub(super) of: FieldOwner,
    pub(super) field: usize,
    pub(super) kind: ScalarKind,
}

/// The type of a field.
#[derive(Debug, Clone)]
pub(super) enum FieldOwner {
    Item(TypeIndex),
    Embedded(Box<str>),
}

/// The members in which the id of an object is.
#[derive(Debug)]
pub(super) struct GlobalIdSource {
    pub(super) format: IdFormat,
    pub(super) id: MemberSlot,
    /// The values of the partition key; empty where it follows from the id.
    pub(super) partition: Vec<KeyPart>,
}

/// A value of a partition key.
#[derive(Debug, Clone, Copy)]
pub(super) enum KeyPart {
    Id,
    Constant(&'static str),
    Member(MemberSlot),
}

/// An amount: minor units, maybe times a quantity, in a currency.
#[derive(Debug)]
pub(super) struct MoneySource {
    pub(super) minor_units: MemberSlot,
    pub(super) quantity: Option<Quantity>,
    pub(super) currency: MemberSlot,
    /// Whether the currency is at the root of the item.
    pub(super) is_currency_of_item: bool,
    pub(super) missing: Missing,
}

/// A whole number by which an amount is multiplied.
#[derive(Debug)]
pub(super) struct Quantity {
    pub(super) slot: MemberSlot,
    /// The number where it is absent.
    pub(super) default: Option<i64>,
}

/// The value of a field of an amount.
#[derive(Debug)]
pub(super) enum MoneyMember {
    Constant(Box<[u8]>),
    Amount,
    CurrencyCode,
}

/// The elements of a list of references.
#[derive(Debug)]
pub(super) enum TargetElements {
    /// Ids alone.
    Ids,
    /// Objects with an id and copies.
    Objects(StoredShape),
}

/// The right of the caller to an action.
#[derive(Debug)]
pub(super) struct Right {
    pub(super) model: usize,
    pub(super) grants: Grants,
    pub(super) or_staff: bool,
    pub(super) owners: Vec<RightOwner>,
    /// Members that end the right: the first value in any of them does.
    pub(super) until: Vec<MemberSlot>,
}

/// The member with the id of an owner.
#[derive(Debug, Clone, Copy)]
pub(super) enum RightOwner {
    Own(MemberSlot),
    /// In the item that this one is below, or that was read together with it.
    Outer(MemberSlot),
}

/// A list, with the selection of its items.
#[derive(Debug)]
pub(super) struct ListPlan {
    pub(super) of: PlannedType,
    pub(super) place: ListPlace,
    /// Whether a page is one query, without conditions on its items.
    pub(super) is_one_query: bool,
    pub(super) items_default: usize,
    pub(super) items_max: usize,
    /// `None` for a plain list.
    pub(super) range: Option<RangeArguments>,
    pub(super) cursors: Option<CursorFormat>,
    /// The id and the properties of the order with their members, where cursors are selected.
    pub(super) order: Vec<(&'static str, MemberSlot)>,
    pub(super) shape: StoredShape,
    pub(super) id: MemberSlot,
    pub(super) deleted: MemberSlot,
    /// The members of the partition key, which every item of the list has.
    pub(super) key: Vec<MemberSlot>,
    pub(super) guard: Option<Guard>,
    pub(super) owner_guard: Option<Guard>,
    /// The properties of the owner that are its logical partition.
    pub(super) owner_key: Vec<(&'static str, MemberSlot)>,
    /// The whole items of entries, where fields are selected that entries lack.
    pub(super) whole: Option<ItemShape>,
    pub(super) whole_id: Option<GlobalIdSource>,
    pub(super) caller_item: Option<CallerItem>,
    pub(super) fields: ListFields,
}

/// The selection of a list.
#[derive(Debug)]
pub(super) enum ListFields {
    Plain(Fields<ObjectValue>),
    Connection(Fields<ConnectionValue>),
}

/// The value of a field of a connection.
#[derive(Debug)]
pub(super) enum ConnectionValue {
    Constant(Box<[u8]>),
    Nodes(Fields<ObjectValue>),
    Edges(Fields<EdgeValue>),
    PageInfo(Fields<PageInfoValue>),
}

/// The value of a field of an edge.
#[derive(Debug)]
pub(super) enum EdgeValue {
    Constant(Box<[u8]>),
    Node(Fields<ObjectValue>),
    Cursor,
}

/// The value of a field of the page info.
#[derive(Debug)]
pub(super) enum PageInfoValue {
    Constant(Box<[u8]>),
    HasNextPage,
    HasPreviousPage,
    StartCursor,
    EndCursor,
}
