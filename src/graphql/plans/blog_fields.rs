//! Field tables: for each type of the schema that plans write, where the value of each field is stored, declared once.

use super::objects::{FieldSource, IdFormat, ListRead, ListType, ObjectType};
use crate::blog::reads::cursor::{COMMENTS, LIKES, POSTS};
use crate::blog::reads::shapes;
use crate::domain::stored_json::MemberSlot;

const fn post(name: &str) -> MemberSlot {
    shapes::POST.slot(name)
}

const fn comment(name: &str) -> MemberSlot {
    shapes::COMMENT.slot(name)
}

const fn like(name: &str) -> MemberSlot {
    shapes::LIKE.slot(name)
}

/// A user has one, and what an abandoned sign-up left has none.
pub(super) const USERNAME: MemberSlot = shapes::USER.slot("username");

/// A user.
pub(super) const USER: ObjectType = ObjectType {
    name: "User",
    fields: &[
        ("id", FieldSource::GlobalId(IdFormat::User(shapes::USER.slot("id")))),
        ("username", FieldSource::Text(USERNAME)),
        ("posts", FieldSource::List(&POSTS_OF_USER)),
    ],
};

/// The user in a post, by the copied name. What else a user has is not in the post.
const AUTHOR_OF_POST: ObjectType = copied_user(&[
    ("id", FieldSource::GlobalId(IdFormat::User(post("userId")))),
    ("username", FieldSource::Text(post("userUsername"))),
]);

/// The user in a comment.
const AUTHOR_OF_COMMENT: ObjectType = copied_user(&[
    ("id", FieldSource::GlobalId(IdFormat::User(comment("userId")))),
    ("username", FieldSource::Text(comment("userUsername"))),
]);

/// The user in a like.
const USER_OF_LIKE: ObjectType = copied_user(&[
    ("id", FieldSource::GlobalId(IdFormat::User(like("userId")))),
    ("username", FieldSource::Text(like("userUsername"))),
]);

const fn copied_user(fields: &'static [(&'static str, FieldSource)]) -> ObjectType {
    ObjectType { name: "User", fields }
}

/// A post that was read by itself.
pub(super) const POST: ObjectType = ObjectType {
    name: "Post",
    fields: &[
        ("id", FieldSource::GlobalId(IdFormat::Post(post("id")))),
        ("author", FieldSource::Object(&AUTHOR_OF_POST)),
        ("title", FieldSource::Text(post("title"))),
        ("content", FieldSource::WholeText(post("content"))),
        ("summary", FieldSource::Summary { content: post("content"), excerpt: post("excerpt") }),
        ("creationDate", FieldSource::Text(post("creationDate"))),
        ("updateDate", FieldSource::OptionalText(post("updateDate"))),
        ("version", FieldSource::TextVersion(post("textVersion"))),
        ("commentCount", FieldSource::Count(post("commentCount"))),
        ("likeCount", FieldSource::Count(post("likeCount"))),
        ("viewerHasLiked", FieldSource::FalseForAnonymous),
        ("comments", FieldSource::List(&COMMENTS_OF_POST)),
        ("likes", FieldSource::List(&LIKES_OF_POST)),
    ],
};

/// A comment.
const COMMENT: ObjectType = ObjectType {
    name: "Comment",
    fields: &[
        ("id", FieldSource::GlobalId(IdFormat::Comment(comment("postId"), comment("id")))),
        ("author", FieldSource::Object(&AUTHOR_OF_COMMENT)),
        ("content", FieldSource::Text(comment("content"))),
        ("creationDate", FieldSource::Text(comment("creationDate"))),
    ],
};

/// A like.
const LIKE: ObjectType = ObjectType {
    name: "Like",
    fields: &[
        ("id", FieldSource::GlobalId(IdFormat::Like(like("postId"), like("id")))),
        ("user", FieldSource::Object(&USER_OF_LIKE)),
        ("creationDate", FieldSource::Text(like("creationDate"))),
    ],
};

/// Short copies of posts in `feed`.
pub(super) const FEED: ListType = posts(ListRead::Feed);

/// Short copies of posts in `users`.
const POSTS_OF_USER: ListType = posts(ListRead::PostsOfUser);

const fn posts(read: ListRead) -> ListType {
    ListType {
        read,
        connection: "PostConnection",
        edge: "PostEdge",
        node: &POST,
        shape: &shapes::POST,
        deleted: post("deleted"),
        cursor: POSTS,
        order: post("creationDate"),
        id: post("id"),
    }
}

const COMMENTS_OF_POST: ListType = ListType {
    read: ListRead::Comments,
    connection: "CommentConnection",
    edge: "CommentEdge",
    node: &COMMENT,
    shape: &shapes::COMMENT,
    deleted: comment("deleted"),
    cursor: COMMENTS,
    order: comment("creationDate"),
    id: comment("id"),
};

const LIKES_OF_POST: ListType = ListType {
    read: ListRead::Likes,
    connection: "LikeConnection",
    edge: "LikeEdge",
    node: &LIKE,
    shape: &shapes::LIKE,
    deleted: like("deleted"),
    cursor: LIKES,
    order: like("creationDate"),
    id: like("id"),
};
