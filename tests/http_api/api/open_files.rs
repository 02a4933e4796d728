//! The limit of open files of the program, and clients that take more than it was.

use std::net::SocketAddr;

use crate::api::binary::Serving;
use onehop_testing::websocket::WebSocketClient;

/// The soft and the hard limit of open files of a process.
fn limits_of(process: u32) -> (String, String) {
    let limits = std::fs::read_to_string(format!("/proc/{process}/limits")).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let mut numbers = line.split_whitespace().map(str::to_owned);
    (numbers.next().unwrap(), numbers.next().unwrap())
}

#[tokio::test]
async fn more_sockets_than_the_soft_limit_leave_health_answered() {
    let directory = tempfile::tempdir().unwrap();
    let serving = Serving::start_with_open_files(&directory.path().join("data"), 128);
    let (soft, hard) = limits_of(serving.process());
    assert_eq!(soft, hard);
    let address: SocketAddr = serving.address.strip_prefix("http://").unwrap().parse().unwrap();
    let mut sockets = Vec::new();
    for _ in 0..200 {
        sockets.push(WebSocketClient::open(address).await);
    }
    for path in ["/healthz", "/readyz"] {
        let answer = reqwest::get(format!("http://{address}{path}")).await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
    }
}
