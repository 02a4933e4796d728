//! Many subscribers of one release server: their memory while they are idle, and how long a change takes to
//! reach all of them. `cargo bench --bench live -- --subscribers 10000`; the limit of open files (`ulimit
//! -n`) has to be above that. With `--queries 1000` they have live queries of a served model in the place of
//! subscriptions, and clients write at a rate.

#[path = "../load/process.rs"]
#[allow(dead_code, reason = "the load run uses more of it")]
mod process;
mod queries;

use std::net::SocketAddr;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use futures::{StreamExt, TryStreamExt, stream};
use onehop_testing::websocket::WebSocketClient;
use process::{Server, ServerProcess};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Connections that are opened at the same time.
const OPENED_AT_ONCE: usize = 64;
const FIELDS: &str = "id title summary commentCount likeCount author { username }";

#[derive(Debug, Parser)]
struct Arguments {
    #[arg(long, default_value_t = 10_000)]
    subscribers: usize,

    /// The transport of the connections
    #[arg(long, value_enum, default_value = "web-socket")]
    transport: Transport,

    /// Each asks something else, so that no two share an execution
    #[arg(long)]
    distinct: bool,

    /// Live queries of a served model that the subscribers share, in the place of subscriptions
    #[arg(long, default_value_t = 0)]
    queries: usize,

    /// Writes a second, each to one live query
    #[arg(long, default_value_t = 500)]
    writes_per_second: usize,

    /// Writes a second, each to every live query
    #[arg(long, default_value_t = 1)]
    writes_to_all_per_second: usize,

    /// Seconds of each kind of writes
    #[arg(long, default_value_t = 20)]
    seconds: usize,

    /// Given by `cargo bench`, and not by `cargo test`
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Transport {
    WebSocket,
    EventStream,
}

enum Subscriber {
    Socket(Box<WebSocketClient>),
    Stream(TcpStream),
}

fn main() -> Result<()> {
    let mut arguments = Arguments::parse();
    if !arguments.bench {
        // `cargo test` only sees whether it works.
        arguments.subscribers = arguments.subscribers.min(10);
        arguments.queries = arguments.queries.min(5);
        arguments.seconds = arguments.seconds.min(1);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match arguments.queries {
        0 => runtime.block_on(run(&arguments)),
        _ => runtime.block_on(queries::run(&arguments)),
    }
}

async fn run(arguments: &Arguments) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let server =
        ServerProcess::start_real(process::this_program(), &scratch.path().join("data"), scratch.path())
            .await?;
    let address: SocketAddr = server.address().parse()?;
    let author = Author::sign_up(address).await?;
    let idle_kib = rss_kib(&server)?;

    let opening = Instant::now();
    let documents = (0..arguments.subscribers).map(|number| match arguments.distinct {
        true => format!("subscription {{ feed{number}: feedChanged {{ {FIELDS} }} }}"),
        false => format!("subscription {{ feedChanged {{ {FIELDS} }} }}"),
    });
    let subscribing = documents.map(|document| subscribe(address, arguments.transport, document));
    let mut subscribers: Vec<Subscriber> =
        stream::iter(subscribing).buffer_unordered(OPENED_AT_ONCE).try_collect().await?;
    let opened = opening.elapsed();
    let subscribed_kib = rss_kib(&server)?;

    let (cpu_before, telling) = (server.cpu_time()?, Instant::now());
    author.post().await?;
    let heard = stream::iter(subscribers.iter_mut().map(hear)).buffer_unordered(usize::MAX);
    heard.try_for_each(|()| async { Ok(()) }).await?;
    let (told, cpu) = (telling.elapsed(), server.cpu_time()? - cpu_before);

    let count = arguments.subscribers as u64;
    println!("subscribers               {count} ({:?}, {})", arguments.transport, kind(arguments));
    println!("opened in                 {:.1} s", opened.as_secs_f64());
    println!("memory without them       {} MiB", idle_kib / 1024);
    println!("memory with them          {} MiB", subscribed_kib / 1024);
    println!(
        "memory of each            {} bytes",
        subscribed_kib.saturating_sub(idle_kib) * 1024 / count.max(1)
    );
    println!(
        "a change reached all in   {:.0} ms, with {} ms of CPU",
        told.as_secs_f64() * 1e3,
        cpu.as_millis()
    );
    println!("memory at most            {} MiB", server.peak_rss_kib()? / 1024);
    Ok(())
}

fn kind(arguments: &Arguments) -> &'static str {
    if arguments.distinct { "each asks something else" } else { "all ask the same" }
}

async fn subscribe(address: SocketAddr, transport: Transport, document: String) -> Result<Subscriber> {
    match transport {
        Transport::WebSocket => {
            let mut socket = WebSocketClient::open(address).await;
            socket.subscribe("1", &document).await;
            socket.settle().await;
            Ok(Subscriber::Socket(Box::new(socket)))
        }
        Transport::EventStream => {
            let body = json!({ "query": document }).to_string();
            let mut stream = TcpStream::connect(address).await.context("raise ulimit -n")?;
            let head = format!(
                "POST /graphql HTTP/1.1\r\nHost: {address}\r\nAccept: text/event-stream\r\n\
                 Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            stream.write_all((head + &body).as_bytes()).await?;
            read_until(&mut stream, ":\n\n").await?;
            Ok(Subscriber::Stream(stream))
        }
    }
}

async fn hear(subscriber: &mut Subscriber) -> Result<()> {
    match subscriber {
        Subscriber::Socket(socket) => {
            let result = socket.hear_of("next", "1").await;
            ensure!(result["errors"].is_null(), "{result}");
        }
        Subscriber::Stream(stream) => read_until(stream, "event: next").await?,
    }
    Ok(())
}

async fn read_until(stream: &mut TcpStream, expected: &str) -> Result<()> {
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains(expected) {
        ensure!(
            stream.read_buf(&mut read).await? > 0,
            "the stream ended: {}",
            String::from_utf8_lossy(&read)
        );
    }
    Ok(())
}

fn rss_kib(server: &ServerProcess) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id()))?;
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    Ok(rss.context("no resident memory")?.parse()?)
}

/// A user whose posts enter the feed.
struct Author {
    http: reqwest::Client,
    url: String,
    token: String,
}

impl Author {
    async fn sign_up(address: SocketAddr) -> Result<Self> {
        let mut author = Self {
            http: reqwest::Client::builder().no_proxy().build()?,
            url: format!("http://{address}/graphql"),
            token: String::new(),
        };
        let query = "mutation { createUser(input: { username: \"author\", password: \"a long password\" }) { accessToken } }";
        let data = author.mutate(query).await?;
        author.token = data["createUser"]["accessToken"].as_str().context("no token")?.to_owned();
        Ok(author)
    }

    async fn post(&self) -> Result<()> {
        let query =
            "mutation { createPost(input: { title: \"Live\", content: \"To everybody.\" }) { post { id } } }";
        self.mutate(query).await.map(drop)
    }

    async fn mutate(&self, query: &str) -> Result<Value> {
        let mut request = self.http.post(&self.url).json(&json!({ "query": query }));
        if !self.token.is_empty() {
            request = request.bearer_auth(&self.token);
        }
        let mut answer: Value = request.send().await?.json().await?;
        ensure!(answer["errors"].is_null(), "{answer}");
        Ok(answer["data"].take())
    }
}
