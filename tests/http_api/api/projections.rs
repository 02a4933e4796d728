//! Where the projections stand, and how read models follow by themselves.

use std::time::Duration;

use onehop::blog::containers::POSTS;
use onehop::blog::ids::PostId;
use onehop_store::{Ledger, NewItem, WriteOp};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::api::server::{Server, Setup};

const PROJECTIONS: &str = "{ projections { name pendingChanges lagMs deadLetters } }";

async fn status_of(server: &Server, projection: &str) -> Value {
    let data = server.operations(PROJECTIONS).await;
    let found = data["projections"].as_array().unwrap().iter().find(|status| status["name"] == projection);
    found.unwrap_or_else(|| panic!("no {projection} in {data}")).clone()
}

async fn ready(server: &Server) -> (u16, Value) {
    let response = server.http.get(server.url("/readyz")).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn what_was_written_and_not_projected_is_pending_and_grows_old() {
    let server = Server::start().await;
    let names = server.operations("{ projections { name } }").await;
    let expected = [
        "usernames",
        "usernames-catch-up",
        "user-posts",
        "feed",
        "posts-by-tag",
        "deletions",
        "renames",
        "account-closures",
        "category-names",
        "tag-names",
        "product-catch-up",
        "products-by-tag",
        "ranking",
    ];
    let expected: Vec<Value> = expected.iter().map(|name| json!({ "name": name })).collect();
    assert_eq!(names["projections"], json!(expected));
    assert_eq!(
        status_of(&server, "feed").await,
        json!({ "name": "feed", "pendingChanges": 0, "lagMs": 0.0, "deadLetters": 0 })
    );
    let ada = server.sign_up("ada").await;
    ada.post("Engines").await;
    ada.post("Looms").await;
    server.clock.advance(Duration::from_secs(9));
    for projection in ["feed", "user-posts"] {
        let status = status_of(&server, projection).await;
        assert_eq!(status["pendingChanges"], 2);
        let lag_ms = status["lagMs"].as_f64().unwrap();
        // The service dates items by its own time.
        assert!((9_000.0..10_000.0).contains(&lag_ms) || crate::support::store::is_cosmos(), "{status}");
    }
    server.settle().await;
    let data = server.operations(PROJECTIONS).await;
    for status in data["projections"].as_array().unwrap() {
        assert_eq!([&status["pendingChanges"], &status["lagMs"]], [&json!(0), &json!(0.0)], "{status}");
    }
}

#[tokio::test]
async fn leases_say_who_follows_each_range_and_no_more() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    ada.post("Engines").await;
    server.settle().await;
    let query = "{ projections { name leaseCount leases { range owner heldHere epoch changes errors pendingChanges lagMs } } }";
    let data = server.operations(query).await;
    for projection in data["projections"].as_array().unwrap() {
        let leases = projection["leases"].as_array().unwrap();
        assert_eq!(projection["leaseCount"], leases.len());
        assert_eq!(leases.len(), 4, "one for each physical partition");
        for lease in leases {
            let held = json!([1, true, 1.0, 0.0, 0, 0.0]);
            let fields = ["owner", "heldHere", "epoch", "errors", "pendingChanges", "lagMs"];
            assert_eq!(json!(fields.map(|field| &lease[field])), held, "{lease}");
        }
    }
    let changes = |name: &str| -> f64 {
        let projection = data["projections"].as_array().unwrap().iter().find(|status| status["name"] == name);
        let leases = projection.unwrap()["leases"].as_array().unwrap();
        leases.iter().map(|lease| lease["changes"].as_f64().unwrap()).sum()
    };
    assert!((changes("feed") - 1.0).abs() < f64::EPSILON, "{data}");
    // The name of this process.
    let owner = server.app.processor.leases().await.unwrap()[0].owner.clone().unwrap();
    assert!(!data.to_string().contains(&format!("\"{owner}")), "{data}");
}

#[tokio::test]
async fn a_failed_change_is_parked_and_others_are_projected() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let id = PostId(Uuid::from_u128(0x0189_c7f4_7a00_7000_8000_0000_0000_0000));
    let poison = json!({ "id": id, "postId": id, "type": "post", "creationDate": "2027" });
    let poison = WriteOp::Create(NewItem::encode(id.to_string(), &poison));
    server.app.store.write(POSTS, &id.partition_key(), poison, &Ledger::new()).await.unwrap();
    let post = ada.post("Engines").await;
    server.settle().await;
    let data = ada.data("{ feed { nodes { id } } }", json!({})).await;
    assert_eq!(data["feed"]["nodes"], json!([{ "id": post }]));
    let status = status_of(&server, "feed").await;
    assert_eq!([&status["deadLetters"], &status["pendingChanges"]], [&json!(1), &json!(0)]);

    let remedy = WriteOp::Delete { id: id.to_string(), if_match: None };
    server.app.store.write(POSTS, &id.partition_key(), remedy, &Ledger::new()).await.unwrap();
    server.app.processor.replay(None).await.unwrap();
    assert_eq!(status_of(&server, "feed").await["deadLetters"], 0);
}

#[tokio::test]
async fn a_server_is_ready_when_its_projections_run_and_not_before() {
    let idle = Server::start().await;
    let (status, body) = ready(&idle).await;
    assert_eq!((status, &body["status"]), (503, &json!("unready")));
    let reasons = body["reasons"].as_array().unwrap();
    assert!(reasons.iter().any(|reason| reason["part"] == "feed"), "{body}");

    let server = Server::start_with(Setup { in_background: true, ..Setup::default() }).await;
    while ready(&server).await.0 != 200 {
        tokio::task::yield_now().await;
    }
    let healthy = server.http.get(server.url("/healthz")).send().await.unwrap();
    assert_eq!(healthy.status(), 200);
}

#[tokio::test]
async fn read_models_follow_by_themselves() {
    let server = Server::start_with(Setup { in_background: true, ..Setup::default() }).await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    ada.like(&post).await;
    ada.mutate("updateUser", json!({ "username": "countess" })).await;
    let expected = json!([{ "id": post, "likeCount": 1, "author": { "username": "countess" } }]);
    let query = "{ feed { nodes { id likeCount author { username } } } }";
    while ada.data(query, json!({})).await["feed"]["nodes"] != expected {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn leases_are_as_many_as_asked_for() {
    let server = Server::start().await;
    server.settle().await;
    let leases =
        |first: i32| format!("{{ projections {{ leaseCount leases(first: {first}) {{ range }} }} }}");
    let data = server.operations(&leases(2)).await;
    for projection in data["projections"].as_array().unwrap() {
        let leases = projection["leases"].as_array().unwrap().len();
        assert_eq!((&projection["leaseCount"], leases), (&json!(4), 2));
    }
    for first in [0, 101] {
        let (_, refused) = server.ask_operations(&leases(first)).await;
        let extensions = &refused["errors"][0]["extensions"];
        assert_eq!((&extensions["code"], &extensions["field"]), (&json!("BAD_USER_INPUT"), &json!("first")));
    }
}

#[tokio::test]
async fn the_public_operations_api_has_queries_alone() {
    let server = Server::start().await;
    for mutation in ["mutation { lockDemoUsers }", "mutation { verify { users } }"] {
        let (_, refused) = server.ask_operations(mutation).await;
        assert!(refused["errors"][0]["message"].is_string() && refused["data"].is_null(), "{refused}");
    }
    let (_, refused) = server.ask_operations("subscription { progress(work: \"any\") { step } }").await;
    assert!(refused["errors"][0]["message"].is_string() && refused["data"].is_null(), "{refused}");
    let url = server.url("/operations/graphql");
    let batch = json!([{ "query": "{ projections { name } }" }, { "query": "{ projections { name } }" }]);
    assert_eq!(server.http.post(&url).json(&batch).send().await.unwrap().status(), 400);
    let form = server.http.post(&url).header("content-type", "text/plain");
    assert_eq!(form.body("{\"query\":\"{ __typename }\"}").send().await.unwrap().status(), 415);
    assert_eq!(server.http.get(&url).send().await.unwrap().status(), 405);
}

#[tokio::test]
async fn the_public_operations_api_hides_why_a_change_is_parked() {
    let server = Server::start().await;
    let id = PostId(Uuid::from_u128(0x0189_c7f4_7a00_7000_8000_0000_0000_0000));
    let poison = json!({ "id": id, "postId": id, "type": "post", "creationDate": "2027" });
    let poison = WriteOp::Create(NewItem::encode(id.to_string(), &poison));
    server.app.store.write(POSTS, &id.partition_key(), poison, &Ledger::new()).await.unwrap();
    server.settle().await;
    let letters = "{ deadLetters { deadLetters { id partitionKey items error } unlisted } }";
    let data = server.operations(letters).await;
    let letters = data["deadLetters"]["deadLetters"].as_array().unwrap();
    assert!(!letters.is_empty() && letters.iter().all(|letter| letter["error"].is_null()), "{data}");
    let letter =
        format!("{{ deadLetter(id: {}) {{ items {{ id attempts error expiring }} }} }}", letters[0]["id"]);
    let data = server.operations(&letter).await;
    assert_eq!(data["deadLetter"]["items"][0]["id"], json!(id), "{data}");
    assert_eq!(data["deadLetter"]["items"][0]["error"], Value::Null, "{data}");
    let (_, refused) = server.ask_operations("{ deadLetter(id: \"nothing\") { id } }").await;
    assert_eq!(refused["errors"][0]["extensions"]["code"], "UNAVAILABLE", "{refused}");
}

#[tokio::test]
async fn queries_of_operations_are_within_limits() {
    let server = Server::start().await;
    let aliases: String = (0..40).map(|number| format!("a{number}: projections {{ name }} ")).collect();
    let (_, refused) = server.ask_operations(&format!("{{ {aliases} }}")).await;
    assert_eq!(refused["errors"][0]["extensions"]["limit"], "document-aliases-max", "{refused}");
    let letters = "deadLetters { deadLetters { id projection container partitionKey items attempts since } }";
    let (_, refused) = server.ask_operations(&format!("{{ a: {letters} b: {letters} }}")).await;
    assert!(refused["errors"][0]["message"].as_str().unwrap().contains("complex"), "{refused}");
    let (url, long) = (server.url("/operations/graphql"), " ".repeat(5_000));
    let body = json!({ "query": format!("{{ __typename {long} }}") });
    assert!(!server.http.post(url).json(&body).send().await.unwrap().status().is_success());
}

#[tokio::test]
async fn the_operations_api_refuses_multiplying_fragments() {
    let server = Server::start().await;
    for (levels, spreads) in [(12, 2), (40, 2), (9, 20)] {
        let fragments = (0..levels)
            .map(|level| {
                format!("fragment F{level} on Query {{ {}}}", format!("...F{} ", level + 1).repeat(spreads))
            })
            .collect::<Vec<_>>();
        let last = format!("fragment F{levels} on Query {{ projections {{ name }} }}");
        let document = format!("{{ ...F0 }} {} {last}", fragments.join(" "));
        let (_, refused) = server.ask_operations(&document).await;
        assert_eq!(refused["errors"][0]["extensions"]["code"], "LIMIT_EXCEEDED", "{refused}");
    }
    let cycle = "{ ...F } fragment F on Query { ...G } fragment G on Query { ...F }";
    let (_, refused) = server.ask_operations(cycle).await;
    assert!(refused["errors"][0]["message"].as_str().unwrap().contains("spreads itself"), "{refused}");
    let (status, answer) =
        server.ask_operations("{ ...F } fragment F on Query { projections { name } }").await;
    assert!(status == 200 && answer["data"]["projections"][0]["name"].is_string(), "{answer}");
}

#[tokio::test]
async fn queries_of_operations_are_rate_limited() {
    let mut setup = Setup::default();
    setup.options.limits.callers.ru_per_second = 1;
    setup.options.limits.callers.burst_seconds = 1;
    let server = Server::start_with(setup).await;
    assert_eq!(server.ask_operations("{ projections { name } }").await.0, 200);
    let (status, refused) = server.ask_operations("{ projections { name } }").await;
    assert_eq!(status, 429, "{refused}");
}
