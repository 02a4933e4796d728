//! The router served by axum itself: clients are distinguished by axum's `ConnectInfo`.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::pipeline::rate_limit::RateLimits;
use onehop_runtime::tasks::Tasks;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket};

use crate::http::client::{Answer, post, read_answer};
use crate::http::toy::{Options, toy_endpoint, toy_router};

async fn ask(from: [u8; 4], to: SocketAddr) -> Answer {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::from(from), 0).into()).unwrap();
    let mut stream = socket.connect(to).await.unwrap();
    stream.write_all(&post(json!({ "query": "{ viewer }" })).encode("close")).await.unwrap();
    read_answer(&mut stream).await
}

#[tokio::test]
async fn anonymous_clients_of_plain_axum_have_quotas_of_their_own() {
    let callers = RateLimits { ru_per_second: 1, burst_seconds: 1, ..RateLimits::default() };
    let limits = RequestLimits { callers, ..RequestLimits::default() };
    let (options, tasks) = (Options { limits, ..Options::default() }, Tasks::new());
    let router = toy_router(toy_endpoint(&Arc::default(), &options), &options, &tasks);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tasks.spawn("http", async move {
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        let _ = axum::serve(listener, service).await;
        Ok::<_, Infallible>(())
    });
    for (from, status) in [([127, 0, 0, 1], 200), ([127, 0, 0, 1], 429), ([127, 0, 0, 2], 200)] {
        assert_eq!(ask(from, address).await.status, status, "{from:?}");
    }
}
