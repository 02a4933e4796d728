//! Plans: an operation as its reads and the bytes that are written around the results.

use super::arguments::{IdArgument, PageVariables, VariableArgument};
use super::objects::{AmountSource, IdFormat, ListItems, ListType, PointType, ViewerRight};
use crate::domain::stored_json::{MemberSlot, StoredShape};

/// The plan of an operation.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) roots: Fields<RootValue>,
    /// Variables that name the data model: a plan reads V3.
    pub(super) models: Vec<VariableArgument>,
}

/// The fields of an object, in the order of the response.
#[derive(Debug)]
pub(super) struct Fields<V> {
    pub(super) fields: Vec<PlannedField<V>>,
    /// Bytes that each such object takes from the response budget, without its texts and lists.
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
    Point(IdArgument, &'static PointType, PointPlan),
    /// The object behind the id decides. The general executor answers for types without a plan.
    Node(IdArgument, Vec<(&'static PointType, PointPlan)>),
    Caller(&'static PointType, PointPlan),
    Page(ConnectionPlan),
    All(&'static ListItems, Fields<ObjectValue>),
}

/// An object that is read by itself, and the lists below it.
#[derive(Debug)]
pub(super) struct PointPlan {
    pub(super) object: Fields<ObjectValue>,
    pub(super) lists: Vec<ConnectionPlan>,
    /// The number of selections of whether the caller likes the post.
    pub(super) likes_asked: usize,
}

/// The value of a field of an object.
#[derive(Debug)]
pub(super) enum ObjectValue {
    Constant(Box<[u8]>),
    Text(MemberSlot),
    OptionalText(MemberSlot),
    DateOfId(MemberSlot),
    OuterText(MemberSlot),
    Count(MemberSlot),
    TextVersion(MemberSlot),
    Summary {
        content: MemberSlot,
        excerpt: MemberSlot,
    },
    Amount(AmountSource),
    /// The content of a post on a page of short copies.
    ContentOnPage {
        content: MemberSlot,
        excerpt: MemberSlot,
    },
    GlobalId(IdFormat),
    ViewerHasLiked,
    ViewerRight(ViewerRight),
    Object(Fields<ObjectValue>),
    Objects(MemberSlot, &'static StoredShape, Fields<ObjectValue>),
    Beside(Fields<ObjectValue>),
    /// By its place among the lists of the object that is read.
    List(usize),
}

/// A page of a list.
#[derive(Debug)]
pub(super) struct ConnectionPlan {
    pub(super) list: &'static ListType,
    pub(super) page: PageVariables,
    pub(super) fields: Fields<ConnectionValue>,
    /// Whether it is asked if the caller likes its posts.
    pub(super) asks_likes: bool,
    /// Whether the contents of its posts are selected, which short copies do not have.
    pub(super) asks_contents: bool,
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
