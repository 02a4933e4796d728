//! The webhook: a receiver over HTTP that fails, refuses, or accepts.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use onehop_helpdesk::{Desk, Message, Webhook};
use onehop_store::Ledger;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The requests that a receiver had, as idempotency key and text, and its next answers.
#[derive(Default)]
struct Receiver {
    requests: Mutex<Vec<(String, String)>>,
    answers: Mutex<Vec<StatusCode>>,
}

async fn receive(State(receiver): State<Arc<Receiver>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let key = headers["idempotency-key"].to_str().unwrap().to_owned();
    let text = String::from_utf8(body.to_vec()).unwrap();
    receiver.requests.lock().push((key, text));
    receiver.answers.lock().pop().unwrap_or(StatusCode::NO_CONTENT)
}

/// A receiver with these answers, the last one first, and its address.
async fn receiver(answers: Vec<StatusCode>) -> (Arc<Receiver>, String) {
    let receiver = Arc::new(Receiver { answers: Mutex::new(answers), ..Receiver::default() });
    let routes = Router::new().route("/messages", post(receive)).with_state(Arc::clone(&receiver));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    TaskTracker::new().spawn(async move { axum::serve(listener, routes).await.unwrap() });
    (receiver, format!("http://{address}/messages"))
}

/// Adds a message at a new desk with a webhook to the receiver, and follows the change feed to its end.
async fn add_message(url: String) -> (Message, u64) {
    let directory = tempfile::tempdir().unwrap();
    let desk = Desk::open(directory.path()).unwrap();
    let stop = CancellationToken::new();
    let processor = desk.webhook_processor(Webhook::new(url), stop).await.unwrap();
    // A new handler begins with the changes after its first lease.
    processor.drain().await.unwrap();
    let ledger = Ledger::new();
    let ada = desk.hire("Ada", &ledger).await.unwrap();
    let ticket = desk.open_ticket(&ada.id, "Call me", &ledger).await.unwrap();
    let message = desk.add_message(&ticket.id, &ada.id, "Hello", &ledger).await.unwrap();
    processor.drain().await.unwrap();
    let parked = processor.status().await.unwrap()[0].dead_letters;
    (message, parked)
}

#[tokio::test]
async fn the_webhook_is_called_again_until_it_succeeds() {
    let (receiver, url) = receiver(vec![StatusCode::SERVICE_UNAVAILABLE]).await;
    let (message, parked) = add_message(url).await;
    let requests = receiver.requests.lock();
    let keys: Vec<_> = requests.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!((keys, parked), (vec![message.id.as_str(), message.id.as_str()], 0));
    assert!(requests[1].1.contains("\"text\":\"Hello\""), "{}", requests[1].1);
}

#[tokio::test]
async fn a_refused_message_becomes_a_dead_letter() {
    let (receiver, url) = receiver(vec![StatusCode::BAD_REQUEST]).await;
    let (_, parked) = add_message(url).await;
    assert_eq!((receiver.requests.lock().len(), parked), (1, 1));
}
