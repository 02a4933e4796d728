//! An account of Azure Cosmos DB for drills: Microsoft's in-memory emulator behind HTTP, with requests that
//! can fail.
//!
//! `account_server ADDRESS` listens there, for example on `127.0.0.1:8081`. The account has the key
//! `dGVzdGtleQ==` and no database: `onehop provision` makes it. `PUT /faults` takes a list of faults, and
//! replaces the former ones:
//!
//! ```json
//! [{"container": "feed", "requests": "writes", "one_in": 2, "status": 429, "substatus": 3200}]
//! ```
//!
//! A request meets the first fault that concerns it. `container` and `requests` (`reads` or `writes`) may be
//! left out, and concern all then. Of the concerned requests one in `one_in` fails, each one by default. A
//! request without a container never fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use axum::routing::put;
use azure_core::http::{Request, Url};
use azure_data_cosmos_driver::in_memory_emulator::{
    ConsistencyLevel, InMemoryEmulatorHttpClient, VirtualAccountConfig, VirtualRegion,
};
use parking_lot::Mutex;
use serde_json::Value;

/// The service asks a throttled client to wait this long.
const RETRY_AFTER_MS: &str = "50";

/// A fault of requests to one container, or to all.
struct InjectedFault {
    container: Option<String>,
    writes: Option<bool>,
    one_in: u64,
    status: StatusCode,
    substatus: u64,
    requests: AtomicU64,
}

impl InjectedFault {
    fn parse(value: &Value) -> Result<Self, String> {
        let whole = |name: &str| value[name].as_u64().ok_or(format!("{name} must be a whole number"));
        let status =
            u16::try_from(whole("status")?).ok().and_then(|status| StatusCode::from_u16(status).ok());
        let one_in = if value["one_in"].is_null() { 1 } else { whole("one_in")?.max(1) };
        let writes = match value["requests"].as_str() {
            None => None,
            Some("reads") => Some(false),
            Some("writes") => Some(true),
            Some(other) => return Err(format!("requests must be reads or writes, and not {other}")),
        };
        Ok(Self {
            container: value["container"].as_str().map(ToOwned::to_owned),
            writes,
            one_in,
            status: status.ok_or("status must be an HTTP status")?,
            substatus: if value["substatus"].is_null() { 0 } else { whole("substatus")? },
            requests: AtomicU64::new(0),
        })
    }

    fn strikes(&self, container: &str, writes: bool) -> bool {
        self.container.as_deref().is_none_or(|named| named == container)
            && self.writes.is_none_or(|concerned| concerned == writes)
            && self.requests.fetch_add(1, Ordering::Relaxed).is_multiple_of(self.one_in)
    }

    fn response(&self) -> Response<Body> {
        let body = serde_json::json!({ "code": self.status.as_str(), "message": "an injected fault" });
        Response::builder()
            .status(self.status)
            .header("content-type", "application/json")
            .header("x-ms-substatus", self.substatus)
            .header("x-ms-retry-after-ms", RETRY_AFTER_MS)
            .header("x-ms-request-charge", "0.38")
            .body(Body::from(body.to_string()))
            .expect("valid headers")
    }
}

struct Account {
    emulator: InMemoryEmulatorHttpClient,
    endpoint: Url,
    faults: Mutex<Vec<InjectedFault>>,
}

impl Account {
    fn new(endpoint: Url) -> azure_data_cosmos_driver::error::Result<Self> {
        let config = VirtualAccountConfig::new(vec![VirtualRegion::new("East US", endpoint.clone())])?
            .with_consistency(ConsistencyLevel::Session)
            .with_throttling_enabled(false);
        let emulator = InMemoryEmulatorHttpClient::new(config);
        Ok(Self { emulator, endpoint, faults: Mutex::default() })
    }

    /// The injected fault of a request on documents of a container, if it meets one.
    fn fault(&self, method: &Method, path: &str, headers: &HeaderMap) -> Option<Response<Body>> {
        let mut segments = path.trim_matches('/').split('/');
        let container = segments.nth(3)?;
        if segments.next() != Some("docs") {
            return None;
        }
        let is_query = headers.contains_key("x-ms-documentdb-isquery");
        let writes = *method != Method::GET && !is_query;
        self.faults.lock().iter().find(|fault| fault.strikes(container, writes)).map(InjectedFault::response)
    }

    async fn answer(&self, method: &Method, uri: &Uri, headers: &HeaderMap, body: Bytes) -> Response<Body> {
        if let Some(fault) = self.fault(method, uri.path(), headers) {
            return fault;
        }
        let failed = |reason: String| {
            let answer = Response::builder().status(StatusCode::INTERNAL_SERVER_ERROR);
            answer.body(Body::from(reason)).expect("no headers")
        };
        let mut url = self.endpoint.clone();
        url.set_path(uri.path());
        url.set_query(uri.query());
        let Ok(method) = method.as_str().parse() else { return failed(format!("method {method}")) };
        let mut request = Request::new(url, method);
        for (name, value) in headers {
            if let Ok(value) = value.to_str() {
                request.insert_header(name.as_str().to_owned(), value.to_owned());
            }
        }
        request.set_body(body.to_vec());
        let answer = match self.emulator.execute_request(&request).await {
            Ok(answer) => answer.try_into_raw_response().await,
            Err(error) => return failed(error.to_string()),
        };
        let Ok(answer) = answer else { return failed("the answer cannot be read".to_owned()) };
        let mut response = Response::builder().status(u16::from(answer.status()));
        for (name, value) in answer.headers().iter() {
            if name.as_str() != "content-length" {
                response = response.header(name.as_str(), value.as_str());
            }
        }
        let body: &[u8] = answer.body().as_ref();
        response.body(Body::from(body.to_vec())).unwrap_or_else(|error| failed(error.to_string()))
    }
}

async fn set_faults(State(account): State<Arc<Account>>, body: Bytes) -> (StatusCode, String) {
    let faults = match serde_json::from_slice(&body) {
        Ok(Value::Array(faults)) => faults.iter().map(InjectedFault::parse).collect(),
        _ => Err("a list of faults is expected".to_owned()),
    };
    match faults {
        Ok(faults) => *account.faults.lock() = faults,
        Err(reason) => return (StatusCode::BAD_REQUEST, reason),
    }
    (StatusCode::OK, String::new())
}

async fn forward(
    State(account): State<Arc<Account>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    account.answer(&method, &uri, &headers, body).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).ok_or("usage: account_server ADDRESS")?;
    let listener = tokio::net::TcpListener::bind(&address).await?;
    let account = Arc::new(Account::new(format!("http://{}/", listener.local_addr()?).parse()?)?);
    let router = Router::new().route("/faults", put(set_faults)).fallback(forward).with_state(account);
    axum::serve(listener, router).await?;
    Ok(())
}
