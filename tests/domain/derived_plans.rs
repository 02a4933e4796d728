//! Plans that follow from the models V1, V2 and V3 of the blog have the operations of its reads and commands:
//! container, kind, number, items and scope.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use onehop::accounts::hashing_queue::HashingCaller;
use onehop::accounts::password::{HashingCost, HashingLimits, PasswordHasher};
use onehop::blog::commands::{
    CommandLimits, CommandParts, Commands, CreateComment, CreatePost, CreateUser, LikePost,
};
use onehop::blog::containers::{POSTS, USERS};
use onehop::blog::ids::RandomIds;
use onehop::blog::reads::{DataModel, PageRequest, ReadModels};
use onehop::blog::study::read_path::{ArticleRead, ReadPath};
use onehop_read_models::verify::for_each_change;
use onehop_runtime::tasks::Tasks;
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

const V3: ReadPath = ReadPath { model: DataModel::V3, batched: false };

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
async fn derived_plans_write_as_the_commands() {
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
    let commands = Commands::new(CommandParts {
        store: blog.store.clone(),
        latest: blog.store.clone(),
        clock: blog.clock.clone(),
        ids: Arc::new(RandomIds),
        passwords: PasswordHasher::new(HashingCost::CHEAP, HashingLimits::default()).unwrap(),
        tasks: Tasks::new(),
        limits: CommandLimits::default(),
    });
    let first = |ty: &str| survey.of(ty).unwrap().sample[0].0.clone();
    let check = |request: &str, ty: &str, ledger: &Ledger| {
        let planned = derived.operations(V3, request, (ty, first(ty)));
        assert_eq!(of_plan(&planned), of_ledger(ledger), "{request}");
    };
    let ledger = Ledger::new();
    let input = CreateUser {
        username: "newcomer".to_owned(),
        password: "correct horse battery".to_owned(),
        idempotency_key: None,
        caller: HashingCaller::default(),
    };
    let user_id = commands.create_user(input, &ledger).await.unwrap().id;
    check("C1", "User", &ledger);
    let (text, post_id) = (|| "Words".to_owned(), post_id(0));
    let ledger = Ledger::new();
    let input =
        CreatePost { user_id, title: text(), content: text(), tags: Vec::new(), idempotency_key: None };
    commands.create_post(input, &ledger).await.unwrap();
    check("C2", "Post", &ledger);
    let ledger = Ledger::new();
    let input = CreateComment { user_id, post_id, content: text(), idempotency_key: None };
    commands.create_comment(input, &ledger).await.unwrap();
    check("C3", "Comment", &ledger);
    let ledger = Ledger::new();
    // A post that the commands have not in memory.
    let input = LikePost { user_id, post_id: crate::support::blog::post_id(1) };
    commands.like_post(input, &ledger).await.unwrap();
    check("C4", "Like", &ledger);
}
