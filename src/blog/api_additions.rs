//! The part of the blog's API that its model does not express: ids, cursors, and rights of the viewer.

use onehop_model::Action;
use uuid::Uuid;

use super::ids::{LikeId, PostId, UserId, kinds};
use super::reads::cursor;
use crate::domain::api_additions::{AddedField, ApiAdditions};

/// The additions.
pub static ADDITIONS: ApiAdditions = ApiAdditions {
    id_kinds: &[
        ("User", kinds::USER),
        ("Post", kinds::POST),
        ("Comment", kinds::COMMENT),
        ("Like", kinds::LIKE),
    ],
    cursors: &[
        ("Query.feed", cursor::FEED),
        ("User.posts", cursor::POSTS_OF_USER),
        ("Post.comments", cursor::COMMENTS),
        ("Post.likes", cursor::LIKES),
    ],
    fields: &[
        ("User.viewerCanUpdate", AddedField::right(Action::Update)),
        ("Post.viewerCanUpdate", AddedField::right(Action::Update)),
        ("Post.viewerCanDelete", AddedField::right_with_staff(Action::Delete)),
        ("Comment.viewerCanUpdate", AddedField::right(Action::Update)),
        ("Comment.viewerCanDelete", AddedField::right_with_staff(Action::Delete)),
    ],
    read_with: &["Comment.post", "Like.post"],
    page_texts: &["Post.content"],
    left_out: &[
        ("Query.postsByTag", "its argument names the logical partition"),
        ("Query.userByUsername", "takes the reservation of the name and then the user"),
    ],
    derived_id: like_id,
    design_argument: Some("model"),
};

fn like_id(type_name: &str, post: Uuid, caller: Uuid) -> Option<Uuid> {
    (type_name == "Like").then(|| LikeId::derive(PostId(post), UserId(caller)).0)
}
