//! The store operations of each of Q1 to Q6 under each data model.

use crate::support::blog;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use blog::recording::Touched;
use blog::{Blog, post_id, post_node, small, user_id, user_node};
use onehop::blog::reads::{DataModel, PageRequest, Session};
use onehop_store::{FoldedOperation, Ledger};

const QUESTIONS: [&str; 6] = ["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"];

#[tokio::test]
async fn each_query_matches_the_article_under_each_data_model() {
    let blog = small().await;
    let mut report = String::new();
    for question in QUESTIONS {
        for (model, batched) in
            [(DataModel::V1, false), (DataModel::V1, true), (DataModel::V2, true), (DataModel::V3, true)]
        {
            let ledger = Arc::new(Ledger::new());
            let session = if batched {
                Session::new(Arc::clone(&ledger))
            } else {
                Session::unbatched(Arc::clone(&ledger))
            };
            ask(&blog, question, model, &session).await;
            let way = if batched { "" } else { " without data loaders" };
            writeln!(report, "{question} in {model:?}{way}").unwrap();
            write_operations(&mut report, &ledger.folded());
        }
    }
    insta::assert_snapshot!(report);
}

#[tokio::test]
async fn v3_answers_each_question_from_one_logical_partition() {
    let blog = small().await;
    for question in QUESTIONS {
        blog.store.take_touched();
        ask(&blog, question, DataModel::V3, &Session::new(Arc::new(Ledger::new()))).await;
        assert_one_logical_partition(question, &blog.store.take_touched());
    }
}

#[tokio::test]
async fn by_default_each_api_query_touches_one_logical_partition() {
    let blog = small().await;
    let (user, post) = (user_node(0), post_node(0));
    let post_fields = "id title summary creationDate commentCount likeCount author { id username }";
    for query in [
        format!("{{ user(id: \"{user}\") {{ id username }} }}"),
        format!("{{ post(id: \"{post}\") {{ {post_fields} content }} }}"),
        format!("{{ user(id: \"{user}\") {{ username posts {{ nodes {{ {post_fields} }} }} }} }}"),
        format!(
            "{{ post(id: \"{post}\") {{ title comments {{ nodes {{ id content author {{ id username }} \
             post {{ title }} }} }} }} }}"
        ),
        format!(
            "{{ post(id: \"{post}\") {{ title likes {{ edges {{ node {{ user {{ username }} }} }} }} }} }}"
        ),
        format!(
            "{{ feed(first: 100) {{ edges {{ cursor node {{ {post_fields} }} }} pageInfo {{ endCursor }} }} }}"
        ),
    ] {
        blog.store.take_touched();
        blog.data(&query).await;
        assert_one_logical_partition(&query, &blog.store.take_touched());
    }
}

async fn ask(blog: &Blog, question: &str, model: DataModel, session: &Session) {
    let reads = blog.reads.of(model);
    let page = PageRequest::new(20, None).expect("a page");
    let (user, post) = (user_id(0), post_id(0));
    let found = match question {
        "Q1" => reads.user(user, session).await.unwrap().map_or(0, |_| 1),
        "Q2" => reads.post(post, session).await.unwrap().map_or(0, |_| 1),
        "Q3" => reads.posts_of_user(user, &page, session).await.unwrap().items.len(),
        "Q4" => reads.comments(post, &page, session).await.unwrap().items.len(),
        "Q5" => reads.likes(post, &page, session).await.unwrap().items.len(),
        _ => reads.feed(&page, session).await.unwrap().items.len(),
    };
    assert!(found > 0, "{question} in {model:?} finds something");
}

fn write_operations(report: &mut String, operations: &[FoldedOperation]) {
    for operation in operations {
        let FoldedOperation { container, kind, times, physical_partitions, .. } = operation;
        writeln!(report, "    {container} {kind:?} x {times}, physical partitions: {physical_partitions}")
            .unwrap();
    }
}

fn assert_one_logical_partition(question: &str, touched: &BTreeSet<Touched>) {
    let is_one = matches!(touched.iter().collect::<Vec<_>>()[..], [Touched::LogicalPartition(..)]);
    assert!(is_one, "{question} touched {touched:?}");
}
