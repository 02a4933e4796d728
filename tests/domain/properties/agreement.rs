//! The conditions after the read models have caught up: the data models agree with one another, and with the
//! acknowledged commands.

use std::collections::{BTreeMap, BTreeSet};

use onehop::accounts::hashing_queue::HashingCaller;
use onehop::accounts::username::Username;
use onehop::blog::commands::SignIn;
use onehop::blog::containers::FEED_POSTS_MAX;
use onehop::blog::ids::{PostId, UserId};
use onehop::blog::reads::DataModel;
use onehop_store::Ledger;

use crate::process::TestProcess;
use crate::properties::answers::{Asker, Listed};
use crate::properties::model::Model;
use crate::properties::play::{PASSWORD, TAGS};

/// Sizes of pages with which every list is read: smaller than most lists, and as large as can be.
const PAGE_SIZES: [i64; 3] = [1, 3, 100];

/// Asserts all conditions of a blog that has come to rest.
pub async fn assert_agreement(blog: &TestProcess, model: &Model) {
    let usernames = assert_users(blog, model).await;
    for id in model.posts.keys() {
        assert_post(blog, model, *id, &usernames).await;
    }
    assert_feed(blog, model).await;
    assert_tags(blog, model).await;
    assert_names(blog, &usernames).await;
}

/// Q1 and Q3 of every user. Returns the names.
async fn assert_users(blog: &TestProcess, model: &Model) -> BTreeMap<UserId, String> {
    let mut usernames = BTreeMap::new();
    for (id, known) in &model.users {
        let expected = Asker::new(blog, DataModel::V1, 100).user(*id).await;
        for asker in askers(blog) {
            assert_eq!(asker.user(*id).await, expected);
        }
        let user = expected.user.unwrap_or_else(|| panic!("the user {id} is lost"));
        assert!(known.may_be_called(&user.username), "{user:?} and {known:?}");
        assert_eq!(ids(&expected.posts), model.posts_left(Some(*id)), "posts of {user:?}");
        usernames.insert(*id, user.username);
    }
    usernames
}

/// Q2, Q4 and Q5 of a post, deleted or not.
async fn assert_post(blog: &TestProcess, model: &Model, id: PostId, usernames: &BTreeMap<UserId, String>) {
    let expected = Asker::new(blog, DataModel::V1, 100).post(id).await;
    for asker in askers(blog) {
        assert_eq!(asker.post(id).await, expected);
    }
    let known = &model.posts[&id];
    let Some(post) = expected.post else {
        assert!(known.deleted, "the post {id} is lost");
        assert!(expected.comments.is_empty() && expected.likes.is_empty(), "reactions to a deleted post");
        return;
    };
    assert!(!known.deleted, "the post {id} came back");
    assert_eq!(post.author.id, known.author);
    assert!(known.may_be_titled(&post.title), "{post:?} and {known:?}");
    assert!(known.may_contain(post.content().expect("the whole text")), "{post:?} and {known:?}");

    let comments = model.comments_left(id);
    assert_eq!(expected.comments.iter().map(|comment| comment.id).collect::<BTreeSet<_>>(), comments);
    for comment in &expected.comments {
        let known = &model.comments[&comment.id];
        assert_eq!((comment.author.id, &comment.content), (known.author, &known.content));
    }
    let likers = model.likers(id);
    assert_eq!(expected.likes.iter().map(|like| like.user.id).collect::<BTreeSet<_>>(), likers);
    assert_eq!((post.comment_count as usize, post.like_count as usize), (comments.len(), likers.len()));

    let likers = expected.likes.iter().map(|like| &like.user);
    let named = expected.comments.iter().map(|comment| &comment.author).chain(likers);
    for user in named.chain([&post.author]) {
        assert_eq!(user.username, usernames[&user.id], "a name beside what {} wrote", user.id);
    }
}

/// Q6: the newest posts, as many as the feed keeps.
pub async fn assert_feed(blog: &TestProcess, model: &Model) {
    let mut newest = model.posts_left(None);
    newest.truncate(FEED_POSTS_MAX);
    let expected = Asker::new(blog, DataModel::V1, 100).feed(FEED_POSTS_MAX).await;
    assert_eq!(ids(&expected), newest);
    for asker in askers(blog) {
        assert_same_list(&asker.feed(FEED_POSTS_MAX).await, &expected);
    }
    let kept = Asker::new(blog, DataModel::V3, 100).feed(usize::MAX).await;
    assert_eq!(kept.len(), newest.len(), "the feed keeps the newest and no more");
}

/// The posts of each tag are the posts that have it, newest first.
async fn assert_tags(blog: &TestProcess, model: &Model) {
    let left = model.posts_left(None).len();
    let posts = Asker::new(blog, DataModel::V1, 100).feed(left.max(1)).await;
    for tag in TAGS {
        let has_tag = |post: &&Listed| post.tags.iter().any(|own| own == tag);
        let expected: Vec<Listed> = posts.iter().filter(has_tag).cloned().collect();
        for first in PAGE_SIZES {
            assert_same_list(&Asker::new(blog, DataModel::V3, first).tagged(tag).await, &expected);
        }
    }
}

/// Every name belongs to one user, who can be found and can sign in by it.
async fn assert_names(blog: &TestProcess, usernames: &BTreeMap<UserId, String>) {
    let mut taken = BTreeSet::new();
    for (id, username) in usernames {
        let name = Username::parse(username).expect("a name that keeps the rules");
        let normalised = name.normalized().as_str().to_owned();
        for asker in askers(blog) {
            assert_eq!(asker.holder(&normalised).await.map(|user| user.id), Some(*id), "{username}");
        }
        assert!(taken.insert(normalised), "{username} is taken twice");
        let sign_in = SignIn {
            username: username.clone(),
            password: PASSWORD.to_owned(),
            caller: HashingCaller::default(),
        };
        let signed_in = blog.app.commands.sign_in(sign_in, &Ledger::new()).await.expect("a sign-in");
        assert_eq!(signed_in.id, *id, "{username}");
    }
}

fn askers(blog: &TestProcess) -> impl Iterator<Item = Asker<'_>> {
    let models = DataModel::ALL.into_iter();
    models.flat_map(move |model| PAGE_SIZES.map(|first| Asker::new(blog, model, first)))
}

/// As `assert_eq!`, without the hundred posts that are equal.
fn assert_same_list(found: &[Listed], expected: &[Listed]) {
    let first = found.iter().zip(expected).position(|(found, expected)| found != expected);
    let first = first.unwrap_or(found.len().min(expected.len()));
    assert!(
        found == expected,
        "{} and {} posts; at {first}, {:#?} and {:#?}",
        found.len(),
        expected.len(),
        found.get(first),
        expected.get(first)
    );
}

fn ids(posts: &[Listed]) -> Vec<PostId> {
    posts.iter().map(|post| post.id).collect()
}
