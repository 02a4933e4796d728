//! The properties that callers rely on: determinism in any order, the article's numbers, and sound ids, dates
//! and sizes.

use std::collections::HashSet;

use serde_json::json;
use sha2::{Digest, Sha256};
use uuid::{Timestamp, Variant};

use super::*;
use onehop_study::prose::{BODY_CHARS_MAX, TITLE_CHARS_MAX};

fn dataset(users: u32) -> Dataset {
    Dataset::new(users, DEFAULT_RNG_SEED, DEFAULT_END_MS)
}

fn date_of(id: Uuid) -> i64 {
    let timestamp: Timestamp = id.get_timestamp().expect("a UUIDv7 has a date");
    let (seconds, nanoseconds) = timestamp.to_unix();
    seconds as i64 * 1_000 + i64::from(nanoseconds) / 1_000_000
}

fn assert_is_uuid_v7_of(id: Uuid, creation_ms: i64) {
    assert_eq!(id.get_version_num(), 7);
    assert_eq!(id.get_variant(), Variant::RFC4122);
    assert_eq!(date_of(id), creation_ms);
}

/// A change of this hash changes every data set ever published: seeds, figures and screenshots with it.
#[test]
fn the_first_items_of_a_seed_never_change() {
    let dataset = dataset(1_000);
    let mut hash = Sha256::new();
    for user in 0..20 {
        let seed_user = dataset.user(user);
        hash.update(seed_user.id.as_bytes());
        hash.update(&seed_user.username);
        for post in dataset.posts_of(user) {
            hash.update(post.id.as_bytes());
            hash.update(&post.title);
            hash.update(&post.content);
            for comment in dataset.comments_of(&post) {
                hash.update(comment.id.as_bytes());
                hash.update(comment.author.to_be_bytes());
                hash.update(&comment.content);
            }
            for like in dataset.likes_of(&post) {
                hash.update(like.user.to_be_bytes());
                hash.update(like.creation_ms.to_be_bytes());
            }
        }
    }
    let hash: String = hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hash, "3e8f9248a7ad6a0a");
}

#[test]
fn items_are_the_same_in_whatever_order_they_are_asked_for() {
    let dataset = dataset(100);
    let forwards: Vec<SeedPost> = (0..30).flat_map(|user| dataset.posts_of(user)).collect();
    let mut backwards: Vec<SeedPost> = Vec::new();
    for user in (0..30).rev() {
        let last_to_first = (0..dataset.post_count_of(user)).rev();
        backwards.extend(last_to_first.map(|ordinal| {
            let post = dataset.post(user, ordinal);
            dataset.comments_of(&post).for_each(drop);
            post
        }));
    }
    backwards.reverse();
    assert_eq!(forwards, backwards);
    let reactions =
        |post| (dataset.comments_of(post).collect::<Vec<_>>(), dataset.likes_of(post).collect::<Vec<_>>());
    assert_eq!(reactions(&forwards[3]), reactions(&dataset.post(forwards[3].author, forwards[3].ordinal)));
}

#[test]
fn another_seed_makes_another_data_set() {
    let (one, other) = (Dataset::new(50, 1, DEFAULT_END_MS), Dataset::new(50, 2, DEFAULT_END_MS));
    assert_ne!(one.user(20), other.user(20));
    assert_ne!(one.post(0, 0), other.post(0, 0));
}

#[test]
fn means_are_those_of_uniform_draws() {
    let totals = dataset(20_000).totals();
    let per = |part: u64, whole: u64| part as f64 / whole as f64;
    assert_eq!(totals.users, 20_000);
    assert!((per(totals.posts, totals.users) - 27.5).abs() < 0.3, "{totals:?}");
    assert!((per(totals.comments, totals.posts) - 12.5).abs() < 0.05, "{totals:?}");
    assert!((per(totals.likes, totals.posts) - 50.0).abs() < 0.2, "{totals:?}");
}

#[test]
fn every_count_between_its_bounds_occurs() {
    let dataset = dataset(2_000);
    let posts: HashSet<u32> = (0..2_000).map(|user| dataset.post_count_of(user)).collect();
    assert_eq!(posts, (POSTS_PER_USER_MIN..=POSTS_PER_USER_MAX).collect());
    let counts = (0..2_000).flat_map(|user| (0..5).map(move |ordinal| (user, ordinal)));
    let (comments, likes): (HashSet<u32>, HashSet<u32>) =
        counts.map(|(user, ordinal)| dataset.reaction_counts(user, ordinal)).unzip();
    assert_eq!(comments, (0..=COMMENTS_PER_POST_MAX).collect());
    assert_eq!(likes, (0..=LIKES_PER_POST_MAX).collect());
}

#[test]
fn totals_equal_what_the_iterators_yield() {
    for users in [0, 1, 2, 11, 40] {
        let dataset = dataset(users);
        let mut counted = Totals::default();
        for user in 0..users {
            counted.users += 1;
            for post in dataset.posts_of(user) {
                counted.posts += 1;
                counted.comments += dataset.comments_of(&post).count() as u64;
                counted.likes += dataset.likes_of(&post).count() as u64;
            }
        }
        assert_eq!(dataset.totals(), counted);
    }
}

#[test]
fn ids_are_uuid_v7_of_their_dates_and_unique() {
    let dataset = dataset(60);
    let mut ids = HashSet::new();
    for user in 0..60 {
        let seed_user = dataset.user(user);
        assert_is_uuid_v7_of(seed_user.id, seed_user.creation_ms);
        assert_eq!(dataset.user_id(user), seed_user.id);
        assert!(ids.insert(seed_user.id));
        for post in dataset.posts_of(user) {
            assert_is_uuid_v7_of(post.id, post.creation_ms);
            assert!(ids.insert(post.id));
            for comment in dataset.comments_of(&post) {
                assert_is_uuid_v7_of(comment.id, comment.creation_ms);
                assert!(ids.insert(comment.id));
            }
        }
    }
}

#[test]
fn dates_are_in_order_and_no_user_acts_before_they_join() {
    let dataset = dataset(300);
    let posts_begin_ms = DEFAULT_END_MS - 2 * YEAR_MS;
    for user in 0..300 {
        let joined_ms = dataset.user(user).creation_ms;
        assert!((posts_begin_ms - YEAR_MS..posts_begin_ms).contains(&joined_ms));
        let mut previous_post_ms = posts_begin_ms - 1;
        for post in dataset.posts_of(user) {
            assert!(post.creation_ms > previous_post_ms && post.creation_ms < DEFAULT_END_MS);
            previous_post_ms = post.creation_ms;
            let mut previous_comment_ms = post.creation_ms + 1;
            for comment in dataset.comments_of(&post) {
                assert!((previous_comment_ms..=DEFAULT_END_MS).contains(&comment.creation_ms));
                previous_comment_ms = comment.creation_ms;
            }
            for like in dataset.likes_of(&post) {
                assert!((post.creation_ms + 1..=DEFAULT_END_MS).contains(&like.creation_ms));
            }
        }
    }
}

#[test]
fn the_newest_posts_are_close_to_the_end() {
    let dataset = dataset(1_000);
    let newest = (0..1_000).map(|user| dataset.post(user, dataset.post_count_of(user) - 1).creation_ms).max();
    assert!(newest.is_some_and(|newest_ms| DEFAULT_END_MS - newest_ms < 48 * HOUR_MS));
}

#[test]
fn likes_come_from_distinct_users_of_the_data_set() {
    for users in [1, 2, 11, 99, 100, 101, 5_000] {
        let dataset = dataset(users);
        for post in (0..users.min(20)).flat_map(|user| dataset.posts_of(user)) {
            let likes: Vec<u32> = dataset.likes_of(&post).map(|like| like.user).collect();
            assert_eq!(likes.len(), post.like_count as usize);
            assert!(likes.iter().all(|user| *user < users));
            assert_eq!(likes.iter().collect::<HashSet<_>>().len(), likes.len());
        }
    }
}

#[test]
fn every_user_likes_and_comments_about_as_often_as_any_other() {
    let dataset = dataset(200);
    let (mut likes, mut comments) = ([0_u32; 200], [0_u32; 200]);
    for post in (0..200).flat_map(|user| dataset.posts_of(user)) {
        dataset.likes_of(&post).for_each(|like| likes[like.user as usize] += 1);
        dataset.comments_of(&post).for_each(|comment| comments[comment.author as usize] += 1);
    }
    for (counts, tolerance) in [(likes, 0.15), (comments, 0.3)] {
        let mean = f64::from(counts.iter().sum::<u32>()) / 200.0;
        assert!(counts.iter().all(|count| (f64::from(*count) / mean - 1.0).abs() < tolerance), "{counts:?}");
    }
}

#[test]
fn comments_are_compact_and_posts_of_one_user_differ() {
    let dataset = dataset(100);
    let posts: Vec<SeedPost> = (0..100).flat_map(|user| dataset.posts_of(user)).collect();
    let comments: Vec<String> =
        posts.iter().flat_map(|post| dataset.comments_of(post)).map(|comment| comment.content).collect();
    let mean = comments.iter().map(String::len).sum::<usize>() as f64 / comments.len() as f64;
    assert!((130.0..=190.0).contains(&mean), "{mean}");
    let distinct = posts.iter().map(|post| &post.content).collect::<HashSet<_>>().len();
    assert_eq!(distinct, posts.len());
    for post in &posts {
        let contents: Vec<String> = dataset.comments_of(post).map(|comment| comment.content).collect();
        assert_eq!(contents.iter().collect::<HashSet<_>>().len(), contents.len());
    }
}

#[test]
fn the_item_of_the_longest_post_stays_under_1_kb() {
    let id = Uuid::max().to_string();
    let words = "a".repeat(BODY_CHARS_MAX - 6);
    let item = json!({
        "id": id, "type": "post", "postId": id, "userId": id, "userUsername": "u".repeat(30),
        "title": "t".repeat(TITLE_CHARS_MAX), "content": format!("{words}\n\na\n\nb"),
        "commentCount": 25, "likeCount": 100, "creationDate": "2025-12-31T23:59:59.999Z", "version": 1000,
    });
    let len = item.to_string().len();
    assert!(len <= 1_024, "{len}");
}

#[test]
fn the_demo_users_come_first() {
    let dataset = dataset(12);
    let names: Vec<String> = (0..12).map(|user| dataset.user(user).username).collect();
    assert_eq!(names[..10], DEMO_USERNAMES);
    assert!(names[10..].iter().all(|name| name.contains(['.', '_', '-'])));
}

#[test]
fn an_id_is_written_hyphenated_in_lower_case() {
    let mut output = String::from("id ");
    write_id(Uuid::from_u128(0xABCD), &mut output);
    assert_eq!(output, "id 00000000-0000-0000-0000-00000000abcd");
}
