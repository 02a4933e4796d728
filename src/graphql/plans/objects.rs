//! What plans know of the types of the schema: where fields come from, and how lists are read.

use crate::domain::cursor::ListKind;
use crate::domain::stored_json::{MemberSlot, StoredShape};

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
    /// A text, or null where it is missing.
    OptionalText(MemberSlot),
    /// An integer, as it is stored; 0 where it is missing.
    Count(MemberSlot),
    /// The version of a text, which is not stored before the first change.
    TextVersion(MemberSlot),
    /// The summary: stored in short copies, otherwise computed from the content.
    Summary { content: MemberSlot, excerpt: MemberSlot },
    /// Computed from ids.
    GlobalId(IdFormat),
    /// False for an anonymous caller. Others need a read.
    FalseForAnonymous,
    /// An object within the same item.
    Object(&'static ObjectType),
    /// A list that takes a read of its own.
    List(&'static ListType),
}

/// The ids in a global id.
#[derive(Debug, Clone, Copy)]
pub(super) enum IdFormat {
    User(MemberSlot),
    Post(MemberSlot),
    /// The post, and the comment.
    Comment(MemberSlot, MemberSlot),
    /// The post, and the like.
    Like(MemberSlot, MemberSlot),
}

/// A list of one logical partition, as a connection.
#[derive(Debug)]
pub(super) struct ListType {
    pub(super) read: ListRead,
    pub(super) connection: &'static str,
    pub(super) edge: &'static str,
    pub(super) node: &'static ObjectType,
    pub(super) shape: &'static StoredShape,
    pub(super) deleted: MemberSlot,
    /// The kind of its cursors, which are made of these members.
    pub(super) cursor: ListKind,
    pub(super) order: MemberSlot,
    pub(super) id: MemberSlot,
}

/// How a list is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListRead {
    Feed,
    PostsOfUser,
    Comments,
    Likes,
}
