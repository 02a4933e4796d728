//! The emulator, and its protocol over HTTP. Test binaries that run the program include this file.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use azure_core::http::{Request, Url};
use azure_data_cosmos_driver::in_memory_emulator::{
    ConsistencyLevel, InMemoryEmulatorHttpClient, VirtualAccountConfig, VirtualRegion,
};

/// More than the largest batch with the overhead of JSON.
const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;

struct Emulator {
    http: InMemoryEmulatorHttpClient,
    base: Url,
}

/// An account without databases, whose clients reach it at `base`.
pub fn router(base: Url) -> anyhow::Result<Router> {
    let region = VirtualRegion::new("East US", base.clone());
    let account = VirtualAccountConfig::new(vec![region])?
        .with_consistency(ConsistencyLevel::Session)
        .with_throttling_enabled(false);
    let http = InMemoryEmulatorHttpClient::try_new(account)?;
    Ok(Router::new()
        .route("/emulator/split", post(split))
        .fallback(forward)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(Arc::new(Emulator { http, base })))
}

/// Splits a physical partition in two: `?database=onehop&container=posts&partition=0`.
async fn split(
    State(emulator): State<Arc<Emulator>>,
    Query(wanted): Query<HashMap<String, String>>,
) -> Result<String, StatusCode> {
    let text = |name: &str| wanted.get(name).map(String::as_str).ok_or(StatusCode::BAD_REQUEST);
    let (database, container) = (text("database")?, text("container")?);
    let partition = text("partition")?.parse().map_err(|_| StatusCode::BAD_REQUEST)?;
    let store = emulator.http.store();
    store.split_partition(database, container, partition, Duration::ZERO);
    store.wait_for_split(database, container, partition).await;
    Ok(format!("{:?}\n", store.child_partition_ids(database, container, &[])))
}

/// Hands a request of the protocol to the emulator.
async fn forward(
    State(emulator): State<Arc<Emulator>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    match answer(&emulator, &method, &uri, &headers, body).await {
        Ok(response) => response,
        Err(error) => {
            eprintln!("{method} {uri}: {error:#}");
            (StatusCode::BAD_GATEWAY, format!("{error:#}\n")).into_response()
        }
    }
}

async fn answer(
    emulator: &Emulator,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: Bytes,
) -> anyhow::Result<Response> {
    let mut url = emulator.base.clone();
    url.set_path(uri.path());
    url.set_query(uri.query());
    let mut request = Request::new(url, method.as_str().parse()?);
    for (name, value) in headers {
        request.insert_header(name.as_str().to_owned(), from_ascii(value.to_str()?)?);
    }
    request.set_body(body);
    let answer = emulator.http.execute_request(&request).await?.try_into_raw_response().await?;
    let mut response = Response::new(axum::body::Body::from(answer.body().to_vec()));
    *response.status_mut() = StatusCode::from_u16(u16::from(answer.status()))?;
    for (name, value) in answer.headers().iter() {
        let name = HeaderName::from_bytes(name.as_str().as_bytes())?;
        response.headers_mut().insert(name, HeaderValue::from_str(&to_ascii(value.as_str()))?);
    }
    Ok(response)
}

/// Before a header's value that was written in another way.
const WRITTEN_AS_BYTES: &str = "bytes:";

/// The emulator puts ids into its continuations, and a header with characters beyond ASCII is lost on the
/// way.
fn to_ascii(value: &str) -> String {
    if value.is_ascii() {
        return value.to_owned();
    }
    value.bytes().fold(WRITTEN_AS_BYTES.to_owned(), |written, byte| format!("{written}{byte:02x}"))
}

fn from_ascii(value: &str) -> anyhow::Result<String> {
    let Some(written) = value.strip_prefix(WRITTEN_AS_BYTES) else { return Ok(value.to_owned()) };
    let byte = |start: usize| u8::from_str_radix(written.get(start..start + 2).unwrap_or_default(), 16);
    let bytes: Result<Vec<u8>, _> = (0..written.len()).step_by(2).map(byte).collect();
    Ok(String::from_utf8(bytes?)?)
}
