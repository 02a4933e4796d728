//! Plans that follow from the models V1, V2 and V3 of the blog have the operations of its reads and commands:
//! container, kind, number, items and scope.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use onehop::blog::containers::{POSTS, USERS};
use onehop::blog::reads::{DataModel, PageRequest, ReadModels};
use onehop::blog::study::read_path::{ArticleRead, ReadPath};
use onehop::blog::study::writes::{ArticleCommand, Plain, SampleAuthor, WritePath};
use onehop_read_models::verify::for_each_change;
use onehop_store::charges::Calibration;
use onehop_store::{Ledger, Store};
use onehop_study::data::{DataSurvey, SurveySpec};
use onehop_study::design_study::DesignStudy;
use onehop_study::designs::DesignData;
use onehop_study::directory::StudyDirectory;
use onehop_study::plans::{PlannedOperation, PlannedScope};
use serde_json::Value;

use crate::support::blog::{Blog, post_id, small, user_id};

const DESIGNS: [(&str, &str); 3] = [
    ("v1", include_str!("../../src/blog/designs/v1.graphql")),
    ("v2", include_str!("../../src/blog/designs/v2.graphql")),
    ("v3", include_str!("../../src/blog/model.graphql")),
];
const REQUESTS: &str = include_str!("../fixtures/study-blog-requests.graphql");
const FILES: [(&str, &str); 4] =
    [("User", "user"), ("Post", "post"), ("Comment", "comment"), ("Like", "like")];

/// Operations in an order of their own: container, kind, number, items, and whether all partitions are asked.
type Operations = Vec<(String, String, u32, u32, bool)>;

fn of_ledger(ledger: &Ledger) -> Operations {
    let folded = ledger.folded().into_iter().map(|operation| {
        let kind = operation.kind.name().to_owned();
        let is_across = operation.basis.is_across;
        (operation.container.to_string(), kind, operation.times, operation.items, is_across)
    });
    sorted(folded.collect())
}

fn of_plan(operations: &[PlannedOperation]) -> Operations {
    let mut folded: BTreeMap<(String, String, bool), (f64, f64)> = BTreeMap::new();
    for operation in operations {
        let is_across = operation.scope == PlannedScope::AllPartitions;
        let key = (operation.container.to_string(), operation.kind.name().to_owned(), is_across);
        let sum = folded.entry(key).or_default();
        *sum = (sum.0 + operation.times, sum.1 + operation.items);
    }
    let line = |((container, kind, is_across), (times, items)): ((String, String, bool), (f64, f64))| {
        (container, kind, times.round() as u32, items.round() as u32, is_across)
    };
    sorted(folded.into_iter().map(line).collect())
}

fn sorted(mut operations: Operations) -> Operations {
    operations.sort();
    operations
}

/// The data of the blog as a study: each item as one line.
async fn export(blog: &Blog, directory: &Path) {
    let mut lines: BTreeMap<String, String> = BTreeMap::new();
    for container in [USERS, POSTS] {
        for_each_change(&*blog.store, container, |change| {
            let mut item: Value = change.item.decode()?;
            if item["type"] == "post" && item["tags"].is_null() {
                // An item without tags does not store them.
                item["tags"] = Value::Array(Vec::new());
            }
            let is_source = container == POSTS || item["type"] == "user";
            if is_source {
                let file = lines.entry(item["type"].as_str().unwrap_or_default().to_owned()).or_default();
                *file += &format!("{item}\n");
            }
            Ok(())
        })
        .await
        .unwrap();
    }
    std::fs::create_dir_all(directory.join("designs")).unwrap();
    let mut settings = "[data]\n".to_owned();
    for (ty, item_type) in FILES {
        settings += &format!("{ty} = \"{item_type}.jsonl\"\n");
        std::fs::write(directory.join(format!("{item_type}.jsonl")), &lines[item_type]).unwrap();
    }
    std::fs::write(directory.join("study.toml"), settings).unwrap();
    std::fs::write(directory.join("requests.graphql"), REQUESTS).unwrap();
    for (name, text) in DESIGNS {
        std::fs::write(directory.join(format!("designs/{name}.graphql")), text).unwrap();
    }
}

struct Derived<'a> {
    study: &'a DesignStudy<'a>,
    designs: Vec<DesignData<'a>>,
}

impl Derived<'_> {
    /// The operations of a request about an item.
    fn operations(&self, path: ReadPath, request: &str, (ty, id): (&str, String)) -> Vec<PlannedOperation> {
        let planner = self.study.planner(&self.designs[path.model as usize], path.batched);
        let sample = &self.study.survey.of(ty).unwrap().sample;
        let subject = sample.iter().position(|(known, _)| *known == id).unwrap();
        let requests = self.study.directory.requests.requests();
        let request = requests.iter().find(|known| &*known.name == request).unwrap();
        planner.plan(request, subject).operations
    }
}

fn page(first: i64) -> PageRequest {
    PageRequest::new(first, None).unwrap()
}

#[tokio::test]
async fn derived_plans_have_the_operations_of_the_reads() {
    let blog = small().await;
    let directory = tempfile::tempdir().unwrap();
    export(&blog, directory.path()).await;
    let study = StudyDirectory::read(directory.path()).unwrap_or_else(|errors| panic!("{errors}"));
    let survey = DataSurvey::read(&study, &SurveySpec::of_designs(&study), &mut |_| {
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    let study = DesignStudy::new(&study, &survey, Calibration::current());
    let derived = Derived { study: &study, designs: study.designs() };
    let store: Arc<dyn Store> = blog.store.clone();
    let reads = ReadModels::new(&store);
    let mut different = Vec::new();
    for path in ReadPath::ALL {
        for number in 0..3_u8 {
            let (user, post) = (user_id(usize::from(number)), post_id(u128::from(number)));
            let of_user = ("User", user.to_string());
            let of_post = ("Post", post.to_string());
            for (request, read, subject) in [
                ("Q1", ArticleRead::User(user), &of_user),
                ("Q2", ArticleRead::Post(post), &of_post),
                ("Q3", ArticleRead::PostsOf(user, page(100)), &of_user),
                ("Q4", ArticleRead::Comments(post, page(20)), &of_post),
                ("Q5", ArticleRead::Likes(post, page(50)), &of_post),
                ("Q6", ArticleRead::Feed(page(100)), &of_post),
            ] {
                let ledger = Arc::new(Ledger::new());
                path.run(&reads, &read, &ledger).await.unwrap();
                let planned = of_plan(&derived.operations(path, request, subject.clone()));
                let written = of_ledger(&ledger);
                if planned != written {
                    different.push(format!("{request} {}: {planned:?}\n  by hand {written:?}", path.plan()));
                }
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[tokio::test]
async fn derived_plans_write_as_the_commands_of_the_comparison() {
    let blog = small().await;
    let directory = tempfile::tempdir().unwrap();
    export(&blog, directory.path()).await;
    let study = StudyDirectory::read(directory.path()).unwrap_or_else(|errors| panic!("{errors}"));
    let survey = DataSurvey::read(&study, &SurveySpec::of_designs(&study), &mut |_| {
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    let study = DesignStudy::new(&study, &survey, Calibration::current());
    let derived = Derived { study: &study, designs: study.designs() };
    let plain = || Plain { store: blog.store.clone(), clock: blog.clock.clone() };
    let post = post_id(0);
    for (model, writes) in
        [(DataModel::V1, WritePath::SingleItems(plain())), (DataModel::V2, WritePath::Batches(plain()))]
    {
        let path = ReadPath { model, batched: false };
        let ledger = Ledger::new();
        let author: SampleAuthor = writes.create_user(format!("newcomer{model:?}"), &ledger).await.unwrap();
        // These models of the article reserve no usernames.
        let mut planned = derived.operations(path, "C1", ("User", user_id(0).to_string()));
        planned.retain(|operation| operation.container.as_str() != "accounts");
        assert_eq!(of_plan(&planned), of_ledger(&ledger), "C1 {model:?}");
        let comment =
            survey.of("Comment").unwrap().sample.iter().find(|(_, item)| item["post"] == post.to_string());
        let comment = comment.map(|(id, _)| id.clone()).unwrap();
        let like =
            survey.of("Like").unwrap().sample.iter().find(|(_, item)| item["post"] == post.to_string());
        let like = like.map(|(id, _)| id.clone()).unwrap();
        let text = || "Words".to_owned();
        for (request, command, subject) in [
            (
                "C2",
                ArticleCommand::Post { author: author.clone(), title: text(), content: text() },
                ("Post", post.to_string()),
            ),
            (
                "C3",
                ArticleCommand::Comment { author: author.clone(), post, content: text() },
                ("Comment", comment.clone()),
            ),
            ("C4", ArticleCommand::Like { author: author.clone(), post }, ("Like", like.clone())),
        ] {
            let ledger = Ledger::new();
            writes.run(command, &ledger).await.unwrap();
            let planned = of_plan(&derived.operations(path, request, subject));
            assert_eq!(planned, of_ledger(&ledger), "{request} {model:?}");
        }
    }
}
