//! A server whose disk is full: mutations are `UNAVAILABLE`, queries are answered, and when there is room
//! again the same process goes on. It is killed in the end, and everything that it acknowledged is there.

use serde_json::{Value, json};

use crate::api::binary::{Serving, run_on};
use onehop_testing::small_disk::SmallDisk;

const MIB: u64 = 1024 * 1024;
const DISK_MIB: u64 = 160;
const RESERVE_MIB: u64 = 24;
/// Posts that fill the space beside the ballast several times over.
const POSTS_MAX: usize = 2_000;
/// Posts that are refused beyond the first.
const REFUSALS: usize = 20;
const CONTENT_CHARACTERS: usize = 50_000;

struct Client<'a> {
    http: &'a reqwest::Client,
    address: String,
    token: String,
}

impl Client<'_> {
    async fn send(&self, query: &str, variables: Value) -> Value {
        let request = self.http.post(format!("{}/graphql", self.address));
        let request = request.header("content-type", "application/json");
        let request = if self.token.is_empty() { request } else { request.bearer_auth(&self.token) };
        let body = json!({ "query": query, "variables": variables }).to_string();
        request.body(body).send().await.unwrap().json().await.unwrap()
    }

    /// Creates a post and returns its id; or the answer of a refusal.
    async fn post(&self, number: usize) -> Result<String, Value> {
        let mutation = "mutation($input: CreatePostInput!) { createPost(input: $input) { post { id } } }";
        let content = incompressible(number);
        let input = json!({ "title": format!("Post {number}"), "content": content });
        let answer = self.send(mutation, json!({ "input": input })).await;
        match answer["data"]["createPost"]["post"]["id"].as_str() {
            Some(id) => Ok(id.to_owned()),
            None => Err(answer),
        }
    }

    async fn title(&self, id: &str) -> Value {
        let query = "query($id: ID!) { post(id: $id) { title } }";
        let mut answer = self.send(query, json!({ "id": id })).await;
        assert_ne!(answer["extensions"]["notReached"], "TIMED_OUT", "a full disk is not waited for");
        answer["data"]["post"]["title"].take()
    }

    async fn metrics(&self) -> String {
        let response = self.http.get(format!("{}/metrics", self.address)).send().await.unwrap();
        response.text().await.unwrap()
    }

    async fn readiness(&self) -> (u16, String) {
        let response = self.http.get(format!("{}/readyz", self.address)).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }
}

/// A text that the engine's compression does not shrink much.
fn incompressible(number: usize) -> String {
    let mut state = number as u64 + 1;
    let words = std::iter::from_fn(|| {
        // The generator of Marsaglia, "Xorshift RNGs", 2003.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        Some(format!("{state:x} "))
    });
    words.flat_map(|word| word.chars().collect::<Vec<_>>()).take(CONTENT_CHARACTERS).collect()
}

#[tokio::test]
async fn a_full_disk_makes_mutations_unavailable() {
    let Some(disk) = SmallDisk::mount(DISK_MIB) else { return };
    let data = disk.path().join("data");
    let reserve = RESERVE_MIB.to_string();
    let serving = Serving::start(&data, &["--disk-reserve-mib", &reserve, "--write-limits-percent", "0"]);
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut client = Client { http: &http, address: serving.address.clone(), token: String::new() };
    let sign_up = "mutation {
        createUser(input: { username: \"ada\", password: \"one and two\" }) { accessToken } }";
    let answer = client.send(sign_up, json!({})).await;
    client.token = answer["data"]["createUser"]["accessToken"].as_str().unwrap().to_owned();
    let mut acknowledged = vec![client.post(0).await.unwrap()];

    let ballast = disk.leave_free((RESERVE_MIB + 6) * MIB);
    let mut refused = Value::Null;
    for number in 1..POSTS_MAX {
        match client.post(number).await {
            Ok(id) => acknowledged.push(id),
            Err(answer) => {
                refused = answer;
                break;
            }
        }
    }
    assert_eq!(refused["errors"][0]["extensions"]["code"], "UNAVAILABLE", "{refused}");
    assert!(refused["errors"][0]["extensions"]["retryAfterMs"].as_u64().unwrap() > 0, "{refused}");
    assert!(!refused.to_string().contains("disk"), "the reason is for the log: {refused}");
    assert!(acknowledged.len() > 10, "{}", acknowledged.len());
    for (number, id) in acknowledged.iter().enumerate() {
        assert_eq!(client.title(id).await, format!("Post {number}"), "reads go on");
    }
    for number in 0..REFUSALS {
        assert!(client.post(number).await.is_err(), "there is no room");
    }
    let (status, body) = client.readiness().await;
    assert_eq!(status, 200, "reads go on, and a load balancer must not take them away: {body}");
    assert!(body.contains("no room for writes"), "{body}");
    let metrics = client.metrics().await;
    for (name, value) in [("onehop_ready", "1"), ("onehop_store_full", "1")] {
        assert!(metrics.contains(&format!("\n{name} {value}\n")), "{name}: {metrics}");
    }
    let bytes = |name: &str| -> u64 {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap();
        line.parse().unwrap()
    };
    assert_eq!(bytes("onehop_store_disk_reserve_bytes"), RESERVE_MIB * MIB);
    assert!((1..(RESERVE_MIB + 1) * MIB).contains(&bytes("onehop_store_disk_free_bytes")));

    std::fs::remove_file(ballast).unwrap();
    acknowledged.push(client.post(acknowledged.len()).await.expect("there is room again"));
    let (status, body) = client.readiness().await;
    assert_eq!((status, body.as_str()), (200, "{\"status\":\"ready\"}"));
    assert!(client.metrics().await.contains("\nonehop_store_full 0\n"));

    let log = serving.kill();
    let lines = |text: &str| log.lines().filter(|line| line.contains(text)).count();
    assert_eq!((lines("writes are refused"), lines("writes are taken")), (1, 1), "{log}");
    assert_eq!(lines("the disk "), 2, "one line for the full disk, and one for the room: {log}");
    let (status, printed) = run_on(&data, &["verify", "--disk-reserve-mib", &reserve]).await;
    assert_eq!(status, 0, "{printed}");
    let serving = Serving::start(&data, &["--disk-reserve-mib", &reserve, "--write-limits-percent", "0"]);
    let client = Client { address: serving.address.clone(), ..client };
    for (number, id) in acknowledged.iter().enumerate() {
        assert_eq!(client.title(id).await, format!("Post {number}"));
    }
}
