//! Graceful stop of a server: work under way finishes, idle connections are closed, late work is dropped.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::Router;
use onehop_graphql_server::server::{ConnectionLimits, Server, ServerError, Stopped};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::{RwLock, watch},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::http::client::{post, read_answer, request};
use crate::http::toy::{LONG, Options, Toy};

const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

async fn is_closed(stream: &mut TcpStream) -> bool {
    matches!(stream.read(&mut [0; 1]).await, Ok(0) | Err(_))
}

#[tokio::test]
async fn running_requests_are_answered_before_shutdown() {
    let toy = Toy::start().await;
    let mut stream = TcpStream::connect(toy.address).await.unwrap();
    let exchange = post(json!({ "query": "{ waits }" }));
    stream.write_all(&exchange.encode("keep-alive")).await.unwrap();
    toy.state.begun.notified().await;
    toy.tasks.stop();
    toy.state.released.notify_one();
    let answer = read_answer(&mut stream).await;
    assert_eq!(answer.json()["data"], json!({ "waits": "done" }));
    assert!(is_closed(&mut stream).await);
}

#[tokio::test]
async fn idle_and_silent_connections_are_closed_when_the_server_stops() {
    let connections = ConnectionLimits { last_request_wait: Duration::ZERO, ..ConnectionLimits::default() };
    let toy = Toy::start_with(Options { connections, ..Options::default() }).await;
    let mut silent = TcpStream::connect(toy.address).await.unwrap();
    let mut idle = TcpStream::connect(toy.address).await.unwrap();
    idle.write_all(&request("GET", "/healthz").encode("keep-alive")).await.unwrap();
    assert_eq!(read_answer(&mut idle).await.status, 200);
    toy.tasks.stop();
    assert!(is_closed(&mut idle).await && is_closed(&mut silent).await);
    assert!(TcpStream::connect(toy.address).await.is_err());
}

#[tokio::test]
async fn draining_server_serves_and_sends_clients_elsewhere() {
    let toy = Toy::start().await;
    let mut kept = TcpStream::connect(toy.address).await.unwrap();
    let healthz = request("GET", "/healthz").encode("keep-alive");
    kept.write_all(&healthz).await.unwrap();
    assert_eq!(read_answer(&mut kept).await.header("connection"), None);
    toy.tasks.drain();
    let unready = request("GET", "/readyz").send(toy.address).await;
    assert_eq!((unready.status, unready.json()["reasons"][0]["part"].as_str()), (503, Some("process")));
    let mut fresh = TcpStream::connect(toy.address).await.unwrap();
    for stream in [&mut kept, &mut fresh] {
        stream.write_all(&healthz).await.unwrap();
        let answer = read_answer(stream).await;
        assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    }
}

#[tokio::test]
async fn requests_on_their_way_are_answered_when_the_server_stops() {
    let connections = ConnectionLimits { last_request_wait: LONG, ..ConnectionLimits::default() };
    let toy = Toy::start_with(Options { connections, ..Options::default() }).await;
    let healthz = request("GET", "/healthz").encode("keep-alive");
    let mut kept = TcpStream::connect(toy.address).await.unwrap();
    kept.write_all(&healthz).await.unwrap();
    assert_eq!(read_answer(&mut kept).await.status, 200);
    // The system has taken these connections, and the server perhaps not.
    let mut fresh = Vec::new();
    for _ in 0..20 {
        fresh.push(TcpStream::connect(toy.address).await.unwrap());
    }
    toy.tasks.stop();
    for mut stream in fresh.into_iter().chain([kept]) {
        stream.write_all(&healthz).await.unwrap();
        let answer = read_answer(&mut stream).await;
        assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    }
}

#[tokio::test]
async fn no_request_through_a_proxy_fails_in_twenty_stops() {
    let proxy = Arc::new(Proxy::before(Toy::start().await));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        clients.spawn(Arc::clone(&proxy).ask_until_told());
    }
    for _ in 0..20 {
        proxy.answered_by_all().await;
        let old = proxy.backend.read().await.clone();
        old.toy.tasks.drain();
        old.until_unready().await;
        // New connections go to the next server from here on; the old one has requests in progress.
        let next = Backend::over(Toy::start().await);
        *proxy.backend.write().await = next;
        old.toy.tasks.stop();
    }
    proxy.answered_by_all().await;
    proxy.is_over.store(true, Ordering::SeqCst);
    while let Some(asked) = clients.join_next().await {
        assert!(asked.unwrap() > 0);
    }
}

const CLIENTS: usize = 16;

/// A reverse proxy with one server behind it at a time, and kept connections to it.
struct Proxy {
    /// Held while a request is being sent.
    backend: RwLock<Arc<Backend>>,
    is_over: AtomicBool,
    answers: watch::Sender<usize>,
}

struct Backend {
    toy: Toy,
    kept: Mutex<Vec<TcpStream>>,
}

impl Backend {
    fn over(toy: Toy) -> Arc<Self> {
        Arc::new(Self { toy, kept: Mutex::default() })
    }

    /// Asks for readiness, as load balancers do, until the answer is 503.
    async fn until_unready(&self) {
        while request("GET", "/readyz").send(self.toy.address).await.status != 503 {}
    }
}

impl Proxy {
    fn before(toy: Toy) -> Self {
        let answers = watch::Sender::new(0);
        Self { backend: RwLock::new(Backend::over(toy)), is_over: AtomicBool::new(false), answers }
    }

    /// Sends requests one after another, each of which has to be answered, and counts them.
    async fn ask_until_told(self: Arc<Self>) -> usize {
        let mut asked = 0;
        while !self.is_over.load(Ordering::SeqCst) {
            self.ask().await;
            asked += 1;
        }
        asked
    }

    async fn ask(&self) {
        let backend = self.backend.read().await;
        let kept = backend.kept.lock().unwrap().pop();
        let mut stream = match kept {
            Some(stream) => stream,
            None => TcpStream::connect(backend.toy.address).await.expect("no connection is refused"),
        };
        let exchange = post(json!({ "query": "mutation { count }" }));
        stream.write_all(&exchange.encode("keep-alive")).await.expect("no connection is reset");
        let asked = Arc::clone(&backend);
        drop(backend);
        let answer = read_answer(&mut stream).await;
        assert!(answer.status == 200 && answer.has_data(), "{answer:?}");
        if answer.header("connection") != Some("close") {
            asked.kept.lock().unwrap().push(stream);
        }
        self.answers.send_modify(|answers| *answers += 1);
    }

    /// Waits until every client has had an answer of either server.
    async fn answered_by_all(&self) {
        let mut answers = self.answers.subscribe();
        let enough = *answers.borrow() + 4 * CLIENTS;
        answers.wait_for(|answers| *answers >= enough).await.expect("clients go on");
    }
}

#[tokio::test]
async fn request_past_the_deadline_is_dropped() {
    let toy = Toy::start_with(Options { stop_deadline: Duration::ZERO, ..Options::default() }).await;
    let mut stream = TcpStream::connect(toy.address).await.unwrap();
    let exchange = post(json!({ "query": "{ waits }" }));
    stream.write_all(&exchange.encode("keep-alive")).await.unwrap();
    toy.state.begun.notified().await;
    toy.tasks.stop();
    assert!(is_closed(&mut stream).await);
}

#[tokio::test]
async fn server_says_how_it_stopped() {
    let stop = CancellationToken::new();
    let server = Server::bind(ANY_PORT).await.unwrap();
    assert_ne!(server.local_address().port(), 0);
    stop.cancel();
    assert_eq!(server.serve(Router::new(), stop, LONG).await, Stopped::Gracefully);
}

#[tokio::test]
async fn address_that_is_taken_is_named_in_the_error() {
    let server = Server::bind(ANY_PORT).await.unwrap();
    let error = Server::bind(server.local_address()).await.unwrap_err();
    let ServerError::Bind { address, .. } = &error;
    assert_eq!(*address, server.local_address());
    assert!(error.to_string().contains(&address.to_string()));
}
