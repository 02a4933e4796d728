//! The selected parts of a post in a subscription: an event is sent only where one of them has changed.

use async_graphql::SelectionField;

use crate::blog::live::PostChanges;

/// Fields below a list of a post, or below its author, that change with nothing but the list or the author.
const OF_LIST_OR_AUTHOR: [&str; 18] = [
    "__typename",
    "author",
    "content",
    "creationDate",
    "cursor",
    "edges",
    "endCursor",
    "hasNextPage",
    "hasPreviousPage",
    "id",
    "node",
    "nodes",
    "pageInfo",
    "startCursor",
    "user",
    "username",
    "viewerCanDelete",
    "viewerCanUpdate",
];

/// The parts on which the fields below a field depend; all parts for a field that is not known here.
pub(super) fn selected_parts(field: SelectionField<'_>) -> PostChanges {
    field.selection_set().map(parts_of).fold(PostChanges::NONE, PostChanges::and)
}

fn parts_of(field: SelectionField<'_>) -> PostChanges {
    let parts = match field.name() {
        "__typename" | "id" | "creationDate" | "viewerCanUpdate" | "viewerCanDelete" => {
            return PostChanges::NONE;
        }
        "title" => return PostChanges::TITLE,
        "summary" => return PostChanges::TEXT,
        "commentCount" => return PostChanges::COMMENTS,
        "likeCount" | "viewerHasLiked" => return PostChanges::LIKES,
        "comments" => PostChanges::COMMENTS,
        "likes" => PostChanges::LIKES,
        "author" => PostChanges::AUTHOR,
        // A copy in the feed does not show whether the whole text has changed.
        _ => return PostChanges::ALL,
    };
    if is_plain(field) { parts } else { PostChanges::ALL }
}

fn is_plain(field: SelectionField<'_>) -> bool {
    field.selection_set().all(|below| OF_LIST_OR_AUTHOR.contains(&below.name()) && is_plain(below))
}
