//! Field tables of the blog: for each type that plans write, where the value of each field is stored,
//! declared once.

use super::objects::{
    FieldSource, IdFormat, ListItems, ListRead, ListType, ObjectType, PointType, Presence, ViewerRight,
};
use crate::blog::items::types;
use crate::blog::reads::{cursor, shapes};
use crate::domain::cursor::ListKind;
use crate::domain::stored_json::{MemberSlot, StoredShape};
use crate::graphql::ids::GlobalId;

const fn post(name: &str) -> MemberSlot {
    shapes::POST.slot(name)
}

const fn comment(name: &str) -> MemberSlot {
    shapes::COMMENT.slot(name)
}

const fn like(name: &str) -> MemberSlot {
    shapes::LIKE.slot(name)
}

/// A user has a name; the item left by an abandoned sign-up has no name.
const USERNAME: MemberSlot = shapes::USER.slot("username");

/// Users that are read by their ids.
pub(super) static USERS: PointType = PointType {
    object: &USER,
    shape: &shapes::USER,
    has_id: |id| matches!(id, GlobalId::User(_)),
    presence: Presence { required: Some(USERNAME), item_type: None, deleted: None },
    beside: None,
};

/// Posts that are read by their ids.
pub(super) static POSTS: PointType = PointType {
    object: &POST,
    shape: &shapes::POST,
    has_id: |id| matches!(id, GlobalId::Post(_)),
    presence: Presence { required: None, item_type: None, deleted: Some(post("deleted")) },
    beside: None,
};

/// Comments that are read by their ids, each with its post.
pub(super) static COMMENTS: PointType =
    with_post(&COMMENT, &shapes::COMMENT, types::COMMENT, |id| matches!(id, GlobalId::Comment(..)));

/// Likes that are read by their ids, each with its post.
pub(super) static LIKES: PointType =
    with_post(&LIKE, &shapes::LIKE, types::LIKE, |id| matches!(id, GlobalId::Like(..)));

const fn with_post(
    object: &'static ObjectType,
    shape: &'static StoredShape,
    item_type: &'static str,
    has_id: fn(GlobalId) -> bool,
) -> PointType {
    let presence = Presence {
        required: None,
        item_type: Some((shape.slot("type"), item_type)),
        deleted: Some(shape.slot("deleted")),
    };
    PointType { object, shape, has_id, presence, beside: Some(&POSTS) }
}

/// A user.
static USER: ObjectType = ObjectType {
    name: "User",
    fields: &[
        ("id", FieldSource::GlobalId(IdFormat::User(shapes::USER.slot("id")))),
        ("username", FieldSource::Text(USERNAME)),
        ("viewerCanUpdate", FieldSource::ViewerRight(ViewerRight::User(shapes::USER.slot("id")))),
        ("posts", FieldSource::List(&POSTS_OF_USER)),
    ],
};

/// The user in a post, by the copied name. The other fields of a user are not in the post.
static AUTHOR_OF_POST: ObjectType = copied_user(&[
    ("id", FieldSource::GlobalId(IdFormat::User(post("userId")))),
    ("viewerCanUpdate", FieldSource::ViewerRight(ViewerRight::User(post("userId")))),
    ("username", FieldSource::Text(post("userUsername"))),
]);

/// The user in a comment.
static AUTHOR_OF_COMMENT: ObjectType = copied_user(&[
    ("id", FieldSource::GlobalId(IdFormat::User(comment("userId")))),
    ("viewerCanUpdate", FieldSource::ViewerRight(ViewerRight::User(comment("userId")))),
    ("username", FieldSource::Text(comment("userUsername"))),
]);

/// The user in a like.
static USER_OF_LIKE: ObjectType = copied_user(&[
    ("id", FieldSource::GlobalId(IdFormat::User(like("userId")))),
    ("viewerCanUpdate", FieldSource::ViewerRight(ViewerRight::User(like("userId")))),
    ("username", FieldSource::Text(like("userUsername"))),
]);

const fn copied_user(fields: &'static [(&'static str, FieldSource)]) -> ObjectType {
    ObjectType { name: "User", fields }
}

/// A post.
static POST: ObjectType = ObjectType {
    name: "Post",
    fields: &[
        ("id", FieldSource::GlobalId(IdFormat::Post(post("id")))),
        ("author", FieldSource::Object(&AUTHOR_OF_POST)),
        ("title", FieldSource::Text(post("title"))),
        ("content", FieldSource::Content { content: post("content"), excerpt: post("excerpt") }),
        ("summary", FieldSource::Summary { content: post("content"), excerpt: post("excerpt") }),
        ("creationDate", FieldSource::Text(post("creationDate"))),
        ("updateDate", FieldSource::OptionalText(post("updateDate"))),
        ("version", FieldSource::TextVersion(post("textVersion"))),
        ("commentCount", FieldSource::Count(post("commentCount"))),
        ("likeCount", FieldSource::Count(post("likeCount"))),
        ("viewerHasLiked", FieldSource::ViewerHasLiked),
        ("viewerCanUpdate", FieldSource::ViewerRight(ViewerRight::User(post("userId")))),
        ("viewerCanDelete", FieldSource::ViewerRight(ViewerRight::UserOrStaff(post("userId")))),
        ("comments", FieldSource::List(&COMMENTS_OF_POST)),
        ("likes", FieldSource::List(&LIKES_OF_POST)),
    ],
};

/// The author of a comment, the author of its post and staff may delete it.
const OF_COMMENT: ViewerRight = ViewerRight::UserOrOwner { user: comment("userId"), owner: post("userId") };

/// A comment.
static COMMENT: ObjectType = ObjectType {
    name: "Comment",
    fields: &[
        ("id", FieldSource::GlobalId(IdFormat::Comment(comment("postId"), comment("id")))),
        ("post", FieldSource::Beside(&POST)),
        ("author", FieldSource::Object(&AUTHOR_OF_COMMENT)),
        ("content", FieldSource::Text(comment("content"))),
        ("creationDate", FieldSource::Text(comment("creationDate"))),
        ("updateDate", FieldSource::OptionalText(comment("updateDate"))),
        ("version", FieldSource::TextVersion(comment("textVersion"))),
        ("viewerCanUpdate", FieldSource::ViewerRight(ViewerRight::User(comment("userId")))),
        ("viewerCanDelete", FieldSource::ViewerRight(OF_COMMENT)),
    ],
};

/// A like.
static LIKE: ObjectType = ObjectType {
    name: "Like",
    fields: &[
        ("id", FieldSource::GlobalId(IdFormat::Like(like("postId"), like("id")))),
        ("post", FieldSource::Beside(&POST)),
        ("user", FieldSource::Object(&USER_OF_LIKE)),
        ("creationDate", FieldSource::Text(like("creationDate"))),
    ],
};

/// Short copies of posts in `feed`.
pub(super) static FEED: ListType = posts(ListRead::Feed, cursor::FEED);

/// Short copies of posts in `users`.
static POSTS_OF_USER: ListType = posts(ListRead::PostsOfUser, cursor::POSTS_OF_USER);

const fn posts(read: ListRead, cursor: ListKind) -> ListType {
    let (shape, id, deleted) = (&shapes::POST, post("id"), post("deleted"));
    ListType {
        items: ListItems { read, node: &POST, shape, id, deleted, is_whole: false },
        connection: "PostConnection",
        edge: "PostEdge",
        cursor,
        order: post("creationDate"),
    }
}

static COMMENTS_OF_POST: ListType = ListType {
    items: ListItems {
        read: ListRead::Comments,
        node: &COMMENT,
        shape: &shapes::COMMENT,
        id: comment("id"),
        deleted: comment("deleted"),
        is_whole: true,
    },
    connection: "CommentConnection",
    edge: "CommentEdge",
    cursor: cursor::COMMENTS,
    order: comment("creationDate"),
};

static LIKES_OF_POST: ListType = ListType {
    items: ListItems {
        read: ListRead::Likes,
        node: &LIKE,
        shape: &shapes::LIKE,
        id: like("id"),
        deleted: like("deleted"),
        is_whole: true,
    },
    connection: "LikeConnection",
    edge: "LikeEdge",
    cursor: cursor::LIKES,
    order: like("creationDate"),
};
