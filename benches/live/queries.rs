//! Live queries of a served model: the time from a write to its delivery, where each write concerns one live
//! query, and where it concerns all of them. The load generator is this process, on the same machine.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use onehop_testing::websocket::WebSocketClient;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::process::{Server, ServerProcess};
use super::{Arguments, OPENED_AT_ONCE, rss_kib};

/// Messages that an answer shows: several writes can be one new answer.
const SHOWN: usize = 3;
/// The wait for deliveries after the last write.
const DELIVERY_MAX: Duration = Duration::from_secs(10);

/// Latencies of the deliveries to subscribers, and their number.
#[derive(Default)]
struct Deliveries {
    of_messages: Mutex<Vec<Duration>>,
    of_notices: Mutex<Vec<Duration>>,
    answers: AtomicUsize,
}

pub async fn run(arguments: &Arguments) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let model = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/live/chat.graphql"));
    let server = ServerProcess::start_served(model, &scratch.path().join("data"), scratch.path()).await?;
    let address: SocketAddr = server.address().parse()?;
    let client = Arc::new(Client {
        http: reqwest::Client::builder().no_proxy().build()?,
        url: format!("http://{address}/graphql"),
        start: Instant::now(),
    });
    let notice = client.created("createNotice", "notice", json!({ "text": "0" })).await?;
    let rooms: Vec<String> =
        stream::iter(0..arguments.queries)
            .map(|number| {
                let client = Arc::clone(&client);
                async move {
                    client.created("createRoom", "room", json!({ "name": format!("Room {number}") })).await
                }
            })
            .buffered(OPENED_AT_ONCE)
            .try_collect()
            .await?;
    let idle_kib = rss_kib(&server)?;

    let deliveries = Arc::new(Deliveries::default());
    let documents =
        (0..arguments.subscribers).map(|number| live_query(&rooms[number % rooms.len()], &notice));
    let opening = documents.map(|document| async move {
        let mut socket = WebSocketClient::open(address).await;
        socket.subscribe("1", &document).await;
        socket.hear_of("next", "1").await;
        socket
    });
    let sockets: Vec<WebSocketClient> =
        stream::iter(opening).buffer_unordered(OPENED_AT_ONCE).collect().await;
    let subscribed_kib = rss_kib(&server)?;
    let mut listening = JoinSet::new();
    for socket in sockets {
        listening.spawn(listen(socket, Arc::clone(&deliveries), client.start));
    }
    println!("subscribers               {} of {} live queries", arguments.subscribers, rooms.len());
    println!("memory without them       {} MiB", idle_kib / 1024);
    println!("memory with them          {} MiB", subscribed_kib / 1024);

    let count = arguments.seconds * arguments.writes_per_second;
    let shares: usize = (0..count).map(|number| members(arguments, number % rooms.len())).sum();
    let before = server.cpu_time()?;
    let writes = write(arguments.writes_per_second, count, |number| {
        let (client, room) = (Arc::clone(&client), rooms[number % rooms.len()].clone());
        async move { client.send_message(&room).await }
    });
    let mut writes = writes.await?;
    settle(|| deliveries.of_messages.lock().len() >= shares).await;
    let cpu = server.cpu_time()? - before;
    println!(
        "{} writes a second, each to one live query, {} s",
        arguments.writes_per_second, arguments.seconds
    );
    report("  acknowledged after", &mut writes);
    report("  delivered after", &mut deliveries.of_messages.lock());
    println!("  deliveries              {} of {shares}", deliveries.of_messages.lock().len());
    println!("  CPU of the server       {:.2} cores", cpu.as_secs_f64() / arguments.seconds as f64);

    let count = arguments.seconds * arguments.writes_to_all_per_second;
    let before = server.cpu_time()?;
    let writes = write(arguments.writes_to_all_per_second, count, |_| {
        let (client, notice) = (Arc::clone(&client), notice.clone());
        async move { client.update_notice(&notice).await }
    });
    let mut writes = writes.await?;
    let all = count * arguments.subscribers;
    settle(|| deliveries.of_notices.lock().len() >= all).await;
    let cpu = server.cpu_time()? - before;
    println!(
        "{} writes a second, each to all live queries, {} s",
        arguments.writes_to_all_per_second, arguments.seconds
    );
    report("  acknowledged after", &mut writes);
    report("  delivered after", &mut deliveries.of_notices.lock());
    println!("  deliveries              {} of {all}", deliveries.of_notices.lock().len());
    println!("  CPU of the server       {:.2} cores", cpu.as_secs_f64() / arguments.seconds as f64);
    println!("memory at most            {} MiB", server.peak_rss_kib()? / 1024);
    Ok(())
}

/// The members of a live query.
fn members(arguments: &Arguments, query: usize) -> usize {
    (query..arguments.subscribers).step_by(arguments.queries).count()
}

fn live_query(room: &str, notice: &str) -> String {
    format!(
        "query @live {{ room(id: \"{room}\") {{ name messageCount messages(first: {SHOWN}) {{ nodes {{ text }} }} }} notice(id: \"{notice}\") {{ text }} }}"
    )
}

/// Receives answers, and notes how long ago each text that is new to it was sent.
async fn listen(mut socket: WebSocketClient, deliveries: Arc<Deliveries>, start: Instant) {
    let mut seen = (0, 0);
    loop {
        let answer = socket.hear_of("next", "1").await;
        assert!(answer["errors"].is_null(), "{answer}");
        let now = micros(start.elapsed());
        deliveries.answers.fetch_add(1, Ordering::Relaxed);
        let messages = answer["data"]["room"]["messages"]["nodes"].as_array().expect("messages");
        let sent: Vec<u64> = messages.iter().map(|message| sent_at(&message["text"])).collect();
        let new = sent.iter().filter(|sent| **sent > seen.0);
        deliveries.of_messages.lock().extend(new.map(|sent| Duration::from_micros(now - sent)));
        seen.0 = sent.iter().copied().fold(seen.0, u64::max);
        let notice = sent_at(&answer["data"]["notice"]["text"]);
        if notice > seen.1 {
            deliveries.of_notices.lock().push(Duration::from_micros(now - notice));
            seen.1 = notice;
        }
    }
}

fn sent_at(text: &Value) -> u64 {
    text.as_str().and_then(|text| text.parse().ok()).expect("a time")
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).expect("a short run")
}

/// Sends writes at a rate, whether or not the former ones are answered, and returns how long each took.
async fn write<Sent>(per_second: usize, count: usize, send: impl Fn(usize) -> Sent) -> Result<Vec<Duration>>
where
    Sent: Future<Output = Result<Duration>> + Send + 'static,
{
    let mut ticks = interval(Duration::from_secs(1) / u32::try_from(per_second)?);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut under_way = JoinSet::new();
    for number in 0..count {
        ticks.tick().await;
        under_way.spawn(send(number));
    }
    under_way.join_all().await.into_iter().collect()
}

/// Waits until everything is delivered, or nothing more is expected.
async fn settle(is_done: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_done() && start.elapsed() < DELIVERY_MAX {
        sleep(Duration::from_millis(50)).await;
    }
}

fn report(name: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!("{name:25} p50 {:.1} ms, p99 {:.1} ms, p99.9 {:.1} ms", at(0.5), at(0.99), at(0.999));
}

/// A client that writes.
struct Client {
    http: reqwest::Client,
    url: String,
    start: Instant,
}

impl Client {
    async fn send_message(&self, room: &str) -> Result<Duration> {
        let sent = micros(self.start.elapsed());
        let input = json!({ "roomId": room, "text": sent.to_string() });
        self.created("createMessage", "message", input).await?;
        Ok(Duration::from_micros(micros(self.start.elapsed()) - sent))
    }

    async fn update_notice(&self, notice: &str) -> Result<Duration> {
        let sent = micros(self.start.elapsed());
        let input = json!({ "noticeId": notice, "text": sent.to_string() });
        self.mutate("updateNotice", "UpdateNoticeInput", "notice", input).await?;
        Ok(Duration::from_micros(micros(self.start.elapsed()) - sent))
    }

    /// The id of a created item.
    async fn created(&self, mutation: &str, item: &str, input: Value) -> Result<String> {
        let input_type = format!("C{}Input", &mutation[1..]);
        let created = self.mutate(mutation, &input_type, item, input).await?;
        Ok(created["id"].as_str().context("no id")?.to_owned())
    }

    async fn mutate(&self, mutation: &str, input_type: &str, item: &str, input: Value) -> Result<Value> {
        let query =
            format!("mutation($input: {input_type}!) {{ {mutation}(input: $input) {{ {item} {{ id }} }} }}");
        let body = json!({ "query": query, "variables": { "input": input } });
        let mut answer: Value = self.http.post(&self.url).json(&body).send().await?.json().await?;
        ensure!(answer["errors"].is_null(), "{answer}");
        Ok(answer["data"][mutation][item].take())
    }
}
