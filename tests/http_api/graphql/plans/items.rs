//! Items with texts that are hard to copy: escapes, other scripts, marks of Markdown, deleted and edited
//! posts.

use onehop::blog::containers::{POSTS, USERS};
use onehop::blog::items::PostItem;
use onehop_store::{Ledger, NewItem, Store as _, WriteOp};
use onehop_study::rng::{Stream, StreamRng};

use crate::support::blog::{Blog, POSTS_EACH, user_id};

/// Parts of texts.
const PARTS: &[&str] = &[
    "word ",
    "Another, longer one. ",
    "\"quoted\" ",
    "back\\slash ",
    "line\nbreak ",
    "\ttab\u{1}\u{1f}\u{7f} ",
    "*marked* ",
    "[a link](https://example.com) ",
    "日本語 ",
    "\u{1f600}",
    "é\u{a0}\u{2028}",
    "“typographic”… ",
    "</script>& ",
    "# ",
];

impl Blog {
    /// Gives all posts other texts, dates and versions, deletes one, and lets the copies follow.
    pub async fn add_random_posts(&self, seed: u64) {
        let mut rng = StreamRng::new(seed, Stream(78), 0);
        for number in 0..POSTS_EACH * 3 {
            let post = self.stored_post(number).await;
            let post = random(post, number, &mut rng);
            self.put(POSTS, &post.id.partition_key(), &post.id.to_string(), &post).await;
        }
        self.drain().await;
    }

    /// Writes the item of a user with this body.
    pub async fn put_user_body(&self, number: usize, body: &str) {
        let id = user_id(number);
        let item = NewItem { id: id.to_string(), body: body.to_owned().into() };
        let (key, ledger) = (id.partition_key(), Ledger::new());
        self.store.write(USERS, &key, WriteOp::Upsert(item), &ledger).await.expect("written");
    }
}

fn random(mut post: PostItem, number: u128, rng: &mut StreamRng) -> PostItem {
    let mut text = |parts: u32| (0..rng.below(parts) + 1).map(|_| *rng.pick(PARTS)).collect::<String>();
    post.title = text(4);
    post.content = text(60);
    post.version += 1;
    if number.is_multiple_of(3) {
        post.text_version = 2;
        post.update_date = Some("2026-11-21T09:20:00.125Z".to_owned());
    }
    post.deleted = number == 5;
    post.comment_count = if number == 4 { u32::MAX } else { post.comment_count };
    post
}
