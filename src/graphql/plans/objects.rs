//! The plans' knowledge of the types of the schema: the sources of fields, and the reads of objects and
//! lists.

use crate::domain::cursor::ListKind;
use crate::domain::stored_json::{MemberSlot, StoredMembers, StoredShape};
use crate::graphql::ids::GlobalId;

/// An object type whose fields are written from one stored item.
#[derive(Debug)]
pub(super) struct ObjectType {
    pub(super) name: &'static str,
    pub(super) fields: &'static [(&'static str, FieldSource)],
}

impl ObjectType {
    /// Where a field comes from; `None` where a plan does not write it.
    pub(super) fn source(&self, field: &str) -> Option<&'static FieldSource> {
        self.fields.iter().find(|(name, _)| *name == field).map(|(_, source)| source)
    }
}

/// Where the value of a field comes from.
#[derive(Debug)]
pub(super) enum FieldSource {
    /// A text, as it is stored. Dates are texts.
    Text(MemberSlot),
    /// A text that short copies do not have.
    WholeText(MemberSlot),
    /// The content of a post: stored in whole items, and read for the whole page of a list of short copies.
    Content { content: MemberSlot, excerpt: MemberSlot },
    /// A text, or null where it is missing.
    OptionalText(MemberSlot),
    /// The creation date that an id has in it, or null where it has none.
    DateOfId(MemberSlot),
    /// A text of the object that this one is a part of.
    OuterText(MemberSlot),
    /// An integer, as it is stored; 0 where it is missing.
    Count(MemberSlot),
    /// The version of a text, which is not stored before the first change.
    TextVersion(MemberSlot),
    /// The summary: stored in short copies, otherwise computed from the content.
    Summary { content: MemberSlot, excerpt: MemberSlot },
    /// An amount of money as a decimal text.
    Amount(AmountSource),
    /// Computed from ids.
    GlobalId(IdFormat),
    /// Whether the caller likes the post: a read for a signed-in user, false for all others.
    ViewerHasLiked,
    /// Whether the caller may change or delete the object.
    ViewerRight(ViewerRight),
    /// An object within the same item.
    Object(&'static ObjectType),
    /// Objects within the same item, by the shape of each.
    Objects(MemberSlot, &'static StoredShape, &'static ObjectType),
    /// An object that is read together with this one, where this one is read by itself.
    Beside(&'static ObjectType),
    /// A list that takes a read of its own.
    List(&'static ListType),
}

/// The right to change or delete an object. The ids of the item and of the caller decide.
#[derive(Debug, Clone, Copy)]
pub(super) enum ViewerRight {
    /// The user with the id in this slot, and staff.
    UserOrStaff(MemberSlot),
    /// The user with this id.
    User(MemberSlot),
    /// The user with the one id, and in the object that this one is below or beside, the user with the other.
    UserOrOwner { user: MemberSlot, owner: MemberSlot },
    /// The customer with this id.
    Customer(MemberSlot),
    /// The customer with this id, as long as the other member is missing.
    CustomerUntil { customer: MemberSlot, end: MemberSlot },
}

/// An amount: minor units, maybe times a quantity, in a currency.
#[derive(Debug, Clone, Copy)]
pub(super) struct AmountSource {
    pub(super) minor_units: MemberSlot,
    pub(super) quantity: Option<MemberSlot>,
    pub(super) currency: CurrencySource,
}

/// Where the code of a currency is stored.
#[derive(Debug, Clone, Copy)]
pub(super) enum CurrencySource {
    Own(MemberSlot),
    /// In the object that this one is a part of.
    Outer(MemberSlot),
}

/// The ids in a global id: the id of the logical partition first, where there are two.
#[derive(Debug, Clone, Copy)]
pub(super) enum IdFormat {
    User(MemberSlot),
    Post(MemberSlot),
    Comment(MemberSlot, MemberSlot),
    Like(MemberSlot, MemberSlot),
    Customer(MemberSlot),
    SalesOrder(MemberSlot, MemberSlot),
    Product(MemberSlot, MemberSlot),
    ProductCategory(MemberSlot),
    ProductTag(MemberSlot),
}

/// An object that is read by its id.
#[derive(Debug)]
pub(super) struct PointType {
    pub(super) object: &'static ObjectType,
    pub(super) shape: &'static StoredShape,
    /// Whether an id belongs to such an object.
    pub(super) has_id: fn(GlobalId) -> bool,
    pub(super) presence: Presence,
    /// The item that is read together with it, and without which it is absent.
    pub(super) beside: Option<&'static PointType>,
}

/// The condition on an item for such an object to exist.
#[derive(Debug, Clone, Copy)]
pub(super) struct Presence {
    pub(super) required: Option<MemberSlot>,
    pub(super) item_type: Option<(MemberSlot, &'static str)>,
    pub(super) deleted: Option<MemberSlot>,
}

impl Presence {
    /// Whether an item is such an object.
    pub(super) fn of(self, members: &StoredMembers, body: &[u8]) -> bool {
        self.required.is_none_or(|slot| members.json(slot, body).is_some())
            && self.item_type.is_none_or(|(slot, name)| members.is_text(slot, body, name))
            && self.deleted.is_none_or(|slot| !members.flag(slot))
    }
}

/// Items of one logical partition.
#[derive(Debug)]
pub(super) struct ListItems {
    pub(super) read: ListRead,
    pub(super) node: &'static ObjectType,
    pub(super) shape: &'static StoredShape,
    pub(super) id: MemberSlot,
    pub(super) deleted: MemberSlot,
    /// Whether they are whole, and no short copies.
    pub(super) is_whole: bool,
}

/// A list of one logical partition, as a connection.
#[derive(Debug)]
pub(super) struct ListType {
    pub(super) items: ListItems,
    pub(super) connection: &'static str,
    pub(super) edge: &'static str,
    /// The kind of list. Its cursors are made of this member and the id, for the list of one node.
    pub(super) cursor: ListKind,
    pub(super) order: MemberSlot,
}

/// The read of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListRead {
    Feed,
    PostsOfUser,
    Comments,
    Likes,
    Categories,
    Tags,
    ProductsOfCategory,
    ProductsOfTag,
    SalesOrders,
}

/// A field at the root.
#[derive(Debug)]
pub(super) struct RootField {
    pub(super) name: &'static str,
    pub(super) source: RootSource,
    /// Whether an argument says which data model answers.
    pub(super) has_model: bool,
}

/// The source of a field at the root.
#[derive(Debug, Clone, Copy)]
pub(super) enum RootSource {
    /// The object that the argument `id` names.
    Point(&'static PointType),
    /// The object that the argument `id` names, of any of these types.
    Node(&'static [&'static PointType]),
    /// The user or the customer who sends the request, if the caller is one.
    Caller(&'static PointType),
    Page(&'static ListType),
    /// A whole list.
    All(&'static ListItems),
}
