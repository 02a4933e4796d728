//! Commands of the blog, by chance.

use proptest::prelude::*;
use proptest::sample::Index;

/// Names that users fight for, each with its spellings.
const NAMES: [[&str; 3]; 5] = [
    ["Lovelace", "lovelace", "LOVELACE"],
    ["Brontë", "brontë", "BRONTE\u{308}"],
    ["Woolf", "wOOLF", "\u{FF37}oolf"],
    ["Straße.9", "STRASSE.9", "straße.9"],
    ["George_Eliot", "george_eliot", "GEORGE_ELIOT"],
];

/// The user who acts.
#[derive(Debug, Clone)]
pub enum Actor {
    /// The author of the post or comment, if it exists.
    Author,
    User(Index),
}

/// The edited text of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edited {
    Title,
    Content,
    Both,
}

/// One command. An [`Index`] chooses among the existing items when its turn comes.
#[derive(Debug, Clone)]
pub enum Act {
    SignUp { name: String },
    Rename { user: Index, name: String },
    CreatePost { user: Index, key: Option<u8> },
    EditPost { actor: Actor, post: Index, edited: Edited },
    DeletePost { actor: Actor, post: Index },
    CreateComment { user: Index, post: Index, key: Option<u8> },
    DeleteComment { actor: Actor, comment: Index },
    Like { user: Index, post: Index },
    Unlike { user: Index, post: Index },
}

/// Commands, each as often as its weight says.
pub fn acts() -> impl Strategy<Value = Act> + Clone {
    let index = any::<Index>;
    prop_oneof![
        1 => names().prop_map(|name| Act::SignUp { name }),
        3 => (index(), names()).prop_map(|(user, name)| Act::Rename { user, name }),
        6 => (index(), keys()).prop_map(|(user, key)| Act::CreatePost { user, key }),
        4 => (actors(), index(), edits())
            .prop_map(|(actor, post, edited)| Act::EditPost { actor, post, edited }),
        2 => (actors(), index()).prop_map(|(actor, post)| Act::DeletePost { actor, post }),
        6 => (index(), index(), keys())
            .prop_map(|(user, post, key)| Act::CreateComment { user, post, key }),
        2 => (actors(), index()).prop_map(|(actor, comment)| Act::DeleteComment { actor, comment }),
        6 => (index(), index()).prop_map(|(user, post)| Act::Like { user, post }),
        3 => (index(), index()).prop_map(|(user, post)| Act::Unlike { user, post }),
    ]
}

/// A name in one of its spellings.
fn names() -> impl Strategy<Value = String> + Clone {
    let spelling =
        |(name, spelling): (Index, Index)| spelling.get(name.get(NAMES.as_slice()).as_slice()).to_string();
    any::<(Index, Index)>().prop_map(spelling)
}

/// Few keys, so that some are used again.
pub fn keys() -> impl Strategy<Value = Option<u8>> + Clone {
    prop_oneof![2 => Just(None), 1 => (0..3_u8).prop_map(Some)]
}

fn edits() -> impl Strategy<Value = Edited> + Clone {
    prop_oneof![Just(Edited::Title), Just(Edited::Content), Just(Edited::Both)]
}

fn actors() -> impl Strategy<Value = Actor> + Clone {
    prop_oneof![3 => Just(Actor::Author), 1 => any::<Index>().prop_map(Actor::User)]
}
