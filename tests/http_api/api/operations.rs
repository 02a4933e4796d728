//! The operations API on its socket: commands on the server that holds the data directory, or in their own
//! process.

use futures::StreamExt;
use onehop::app::work::DEMO_PASSWORD;
use onehop::blog::containers::{FEED, FEED_PARTITION, POSTS, USERS};
use onehop::blog::ids::{PostId, UserId};
use onehop::graphql::GlobalId;
use onehop::operations::{CLIENTS_MAX, OperationRequest, PATH, SOCKET_FILE, ask, schema};
use onehop_store::{Ledger, NewItem, PartitionKey, WriteOp};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use uuid::Uuid;

use crate::api::binary::{Serving, run, run_on};
use crate::api::server::{Server, Setup};

async fn serving() -> Server {
    Server::start_with(Setup { in_background: true, ..Setup::default() }).await
}

pub fn post_id(global: &str) -> PostId {
    let Ok(GlobalId::Post(id)) = GlobalId::decode(global) else { panic!("{global}") };
    id
}

fn user_id(global: &str) -> UserId {
    let Ok(GlobalId::User(id)) = GlobalId::decode(global) else { panic!("{global}") };
    id
}

/// Deletes both copies of a post, behind the back of the projections.
async fn lose_copies(server: &Server, author: &str, post: &str) {
    let id = post_id(post).to_string();
    let in_users = user_id(author).partition_key();
    for (container, key) in [(USERS, in_users), (FEED, PartitionKey::from(FEED_PARTITION))] {
        let delete = WriteOp::Delete { id: id.clone(), if_match: None };
        server.app.store.write(container, &key, delete, &Ledger::new()).await.unwrap();
    }
}

async fn feed(server: &Server) -> Value {
    server.anonymous().data("{ feed { nodes { id } } }", json!({})).await["feed"]["nodes"].take()
}

#[tokio::test]
async fn a_running_server_verifies_and_repairs_for_the_command() {
    let server = serving().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    ada.comment(&post, "indeed").await;
    server.settle().await;
    let (status, printed) = run_on(server.data(), &["verify"]).await;
    assert_eq!(status, 0, "{printed}");
    assert!(
        printed.contains("1 comment in posts, 1 post in posts, 1 post in users, 1 user in users")
            && printed.contains("clean")
    );

    lose_copies(&server, &ada.id, &post).await;
    let (status, printed) = run_on(server.data(), &["verify"]).await;
    assert_eq!(status, 1, "{printed}");
    assert!(printed.contains("2 drifts") && printed.contains(&post_id(&post).to_string()), "{printed}");
    let (status, printed) = run_on(server.data(), &["verify", "--json"]).await;
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((status, report["drifts"].as_array().unwrap().len()), (1, 2));

    let (status, printed) = run_on(server.data(), &["verify", "--repair"]).await;
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains("2 drifts repaired"), "{printed}");
    assert_eq!(feed(&server).await, json!([{ "id": post }]));
    assert_eq!(run_on(server.data(), &["verify"]).await.0, 0);
}

#[tokio::test]
async fn a_running_server_rebuilds_its_read_models_for_the_command() {
    let server = serving().await;
    let ada = server.sign_up("ada").await;
    let (first, second) = (ada.post("Engines").await, ada.post("Looms").await);
    server.settle().await;
    lose_copies(&server, &ada.id, &first).await;
    assert_eq!(feed(&server).await, json!([{ "id": second }]));
    let (status, printed) = run_on(server.data(), &["rebuild"]).await;
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains("changes projected, 0 parked"), "{printed}");
    assert_eq!(feed(&server).await, json!([{ "id": second }, { "id": first }]));
    assert_eq!(server.verify().await.drifts, []);

    lose_copies(&server, &ada.id, &first).await;
    assert_eq!(run_on(server.data(), &["rebuild", "--read-model", "feed"]).await.0, 0);
    assert_eq!(feed(&server).await, json!([{ "id": second }, { "id": first }]));
    assert_eq!(server.verify().await.drifts.len(), 1, "the copy in users was not asked for");
}

#[tokio::test]
async fn a_running_server_seeds_and_keeps_existing_data() {
    let server = serving().await;
    let newcomer = server.sign_up("newcomer").await;
    let post = newcomer.post("Engines").await;
    let (status, printed) = run_on(server.data(), &["seed", "--users", "2"]).await;
    assert_eq!(status, 0, "{printed}");
    let query = "query($id: ID!) { post(id: $id) { title }
        userByUsername(username: \"ada\") { posts { nodes { id } } } }";
    let data = newcomer.data(query, json!({ "id": post })).await;
    assert_eq!(data["post"]["title"], "Engines");
    assert!(data["userByUsername"]["posts"]["nodes"].as_array().unwrap().len() >= 5);
    assert_eq!(server.verify().await.drifts, []);
    let input = json!({ "username": "ada", "password": DEMO_PASSWORD });
    server.anonymous().mutate("signIn", input).await;
}

#[tokio::test]
async fn what_changes_meanwhile_is_no_drift() {
    let server = serving().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let writing = async {
        for number in 0..40 {
            let comment = ada.comment(&post, &format!("comment {number}")).await;
            if number % 2 == 0 {
                ada.mutate("deleteComment", json!({ "commentId": comment })).await;
            }
            if number % 8 == 0 {
                ada.mutate("updateUser", json!({ "username": format!("ada{number}") })).await;
                ada.post(&format!("post {number}")).await;
            }
        }
    };
    let verifying = async {
        for _ in 0..4 {
            let (status, printed) = run_on(server.data(), &["verify"]).await;
            assert_eq!(status, 0, "{printed}");
        }
    };
    futures::join!(writing, verifying);
    assert_eq!(ada.counts(&post).await, [20, 0]);
}

#[tokio::test]
async fn a_directory_with_a_long_name_has_a_socket_too() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("d".repeat(200));
    let serving = Serving::start(&data, &[]);
    let (status, printed) = run_on(&data, &["verify"]).await;
    assert_eq!((status, printed.contains("clean")), (0, true), "{printed}");
    assert_eq!(tokio::task::spawn_blocking(move || serving.stop()).await.unwrap().0, 0);
    assert!(!data.join("control.sock").exists(), "a stop leaves no socket behind");
}

#[tokio::test]
async fn an_unknown_read_model_is_refused_by_flag_name() {
    let server = serving().await;
    for command in ["rebuild", "replay"] {
        let (status, printed) = run_on(server.data(), &[command, "--read-model", "nothing"]).await;
        assert_eq!(status, 2, "{printed}");
        assert!(printed.contains("--read-model") && printed.contains("user-posts"), "{command}: {printed}");
    }
}

#[tokio::test]
async fn a_running_server_replays_parked_changes_for_the_command() {
    let server = serving().await;
    let id = PostId(Uuid::from_u128(0x0189_c7f4_7a00_7000_8000_0000_0000_0000));
    let write = |operation| {
        let (store, key) = (&server.app.store, id.partition_key());
        async move { store.write(POSTS, &key, operation, &Ledger::new()).await.unwrap() }
    };
    let poison = json!({ "id": id, "postId": id, "type": "post", "creationDate": "2027" });
    write(WriteOp::Create(NewItem::encode(id.to_string(), &poison))).await;
    server.settle().await;
    let (status, printed) = run_on(server.data(), &["replay"]).await;
    assert_eq!(status, 1, "{printed}");
    assert!(!printed.contains(" 0 still parked"), "{printed}");
    write(WriteOp::Delete { id: id.to_string(), if_match: None }).await;
    let (status, printed) = run_on(server.data(), &["replay"]).await;
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains(" 0 still parked"), "{printed}");
}

#[tokio::test]
async fn a_running_server_lists_and_replays_dead_letters() {
    let server = serving().await;
    let (status, printed) = run_on(server.data(), &["dead-letters", "list"]).await;
    assert_eq!((status, printed.trim()), (0, "no dead letters"));

    let id = PostId(Uuid::from_u128(0x0189_c7f4_7a00_7000_8000_0000_0000_0000));
    let write = |operation| {
        let (store, key) = (&server.app.store, id.partition_key());
        async move { store.write(POSTS, &key, operation, &Ledger::new()).await.unwrap() }
    };
    let poison =
        json!({ "id": id, "postId": id, "type": "post", "creationDate": "2027", "title": ["hidden"] });
    write(WriteOp::Create(NewItem::encode(id.to_string(), &poison))).await;
    server.settle().await;

    let (status, printed) = run_on(server.data(), &["dead-letters", "list"]).await;
    assert_eq!(status, 0, "{printed}");
    for said in ["user-posts: posts, logical partition", &id.to_string(), "items: 1; attempts: ", "no field"]
    {
        assert!(printed.contains(said), "{said}: {printed}");
    }
    assert!(!printed.contains("hidden"), "{printed}");
    let (_, printed) = run_on(server.data(), &["dead-letters", "list", "--json"]).await;
    let list: Value = serde_json::from_str(&printed).unwrap();
    let letters = list["deadLetters"].as_array().unwrap();
    let letter = letters.iter().find(|letter| letter["projection"] == "user-posts").unwrap();
    let letter = letter["id"].as_str().unwrap();

    let (status, printed) = run_on(server.data(), &["dead-letters", "show", letter]).await;
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains(&format!("  {id}: attempts: ")) && !printed.contains("hidden"), "{printed}");
    let (status, printed) = run_on(server.data(), &["dead-letters", "show", "nothing"]).await;
    assert_eq!((status, printed.contains("there is no dead letter")), (2, true), "{printed}");

    let (status, printed) = run_on(server.data(), &["dead-letters", "replay", letter]).await;
    assert_eq!((status, printed.trim()), (1, "0 changes projected, 1 still parked"));
    write(WriteOp::Delete { id: id.to_string(), if_match: None }).await;
    let (status, printed) = run_on(server.data(), &["dead-letters", "replay", letter]).await;
    assert_eq!((status, printed.trim()), (0, "1 changes projected, 0 still parked"));
    let (status, printed) = run_on(server.data(), &["dead-letters", "replay"]).await;
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains(" 0 still parked"), "{printed}");
    let (_, printed) = run_on(server.data(), &["dead-letters", "list"]).await;
    assert_eq!(printed.trim(), "no dead letters");
}

#[tokio::test]
async fn without_a_server_the_command_opens_the_directory_itself() {
    let directory = tempfile::tempdir().unwrap();
    let (status, printed) = run_on(directory.path(), &["seed", "--users", "3"]).await;
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains("sign in as ada"), "{printed}");
    for arguments in [
        &["verify"][..],
        &["verify", "--repair"],
        &["rebuild"],
        &["replay"],
        &["dead-letters", "list"],
        &["dead-letters", "replay"],
    ] {
        let (status, printed) = run_on(directory.path(), arguments).await;
        assert_eq!(status, 0, "{arguments:?}: {printed}");
    }
}

#[tokio::test]
async fn a_command_that_cannot_find_out_says_why_and_exits_with_2() {
    let held = Server::start().await;
    let (status, printed) = run_on(held.data(), &["verify"]).await;
    assert_eq!(status, 2, "{printed}");
    assert!(printed.contains("in use by another process"), "{printed}");

    let parent = tempfile::tempdir().unwrap();
    let missing = parent.path().join("nothing-here");
    for command in ["verify", "rebuild", "replay"] {
        let (status, printed) = run_on(&missing, &[command]).await;
        assert_eq!(status, 2, "{command}: {printed}");
        assert!(printed.contains("--data") && printed.contains("nothing-here"), "{command}: {printed}");
        assert!(!missing.exists(), "{command} makes no directory");
    }
    assert_eq!(run(&["verify", "--nonsense"]).await.status.code(), Some(2));
}

#[tokio::test]
async fn the_socket_answers_queries_with_reasons() {
    let server = serving().await;
    let projections = ask(server.data(), &OperationRequest::new("{ projections { name } }"), |_| ()).await;
    assert_eq!(projections.unwrap().unwrap()[3], json!({ "name": "feed" }));
    let refused = ask(server.data(), &OperationRequest::new("{ nothing }"), |_| ()).await.unwrap_err();
    assert!(refused.to_string().contains("nothing"), "{refused}");
}

#[tokio::test]
async fn progress_is_followed_by_the_name_of_the_work() {
    let server = serving().await;
    server.sign_up("ada").await.post("Engines").await;
    server.settle().await;
    let schema = schema(&server.app, true);
    let steps = schema.execute_stream("subscription { progress(work: \"mine\") { step done total } }");
    let rebuild =
        schema.execute("mutation { rebuild(work: \"mine\", readModel: \"feed\") { changes parked } }");
    let (steps, rebuilt) = futures::join!(steps.collect::<Vec<_>>(), rebuild);
    assert!(rebuilt.is_ok(), "{rebuilt:?}");
    let last = serde_json::to_value(&steps.last().unwrap().data).unwrap();
    assert_eq!(last["progress"]["step"], "rebuilding feed");
}

#[tokio::test]
async fn clients_beyond_the_limit_are_refused() {
    let server = serving().await;
    let mut clients = Vec::new();
    for _ in 0..CLIENTS_MAX {
        let stream = UnixStream::connect(server.data().join(SOCKET_FILE)).await.unwrap();
        let mut request = format!("ws://localhost{PATH}").into_client_request().unwrap();
        request.headers_mut().insert("sec-websocket-protocol", "graphql-transport-ws".parse().unwrap());
        clients.push(tokio_tungstenite::client_async(request, stream).await.unwrap());
    }
    let refused =
        ask(server.data(), &OperationRequest::new("{ projections { name } }"), |_| ()).await.unwrap_err();
    assert!(refused.to_string().contains("8 clients"), "{refused}");
}

#[tokio::test]
async fn a_server_of_another_version_is_named_as_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(directory.path().join(SOCKET_FILE)).unwrap();
    let other = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 1024];
        assert!(stream.read(&mut request).await.unwrap() > 0);
        stream.write_all(b"{\"error\":\"the request cannot be read\"}\n").await.unwrap();
    };
    let operation = OperationRequest::new("{ projections { name } }");
    let (asked, ()) = futures::join!(ask(directory.path(), &operation, |_| ()), other);
    let error = asked.unwrap_err().to_string();
    assert!(error.contains("of this version of onehop"), "{error}");
}
