//! Request log: the requests that reach the emulator, with the headers that say who is served first.

use azure_core::http::Request;
use azure_core::http::headers::HeaderName;
use azure_data_cosmos_driver::in_memory_emulator::RequestObserver;
use parking_lot::Mutex;

const PRIORITY_LEVEL: HeaderName = HeaderName::from_static("x-ms-cosmos-priority-level");
const THROUGHPUT_BUCKET: HeaderName = HeaderName::from_static("x-ms-cosmos-throughput-bucket");
const AUTOSCALE_SETTINGS: HeaderName = HeaderName::from_static("x-ms-cosmos-offer-autopilot-settings");

/// A request of the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedRequest {
    pub method: String,
    pub path: String,
    pub priority_level: Option<String>,
    pub throughput_bucket: Option<String>,
    /// The throughput that a new container or database asks for.
    pub autoscale_settings: Option<String>,
}

impl LoggedRequest {
    /// Whether items are read or written, which costs request units.
    pub fn is_for_items(&self) -> bool {
        self.path.contains("/docs")
    }
}

/// The log of one emulator.
#[derive(Debug, Default)]
pub struct RequestLog(Mutex<Vec<LoggedRequest>>);

impl RequestLog {
    /// Forgets the logged requests, and returns them.
    pub fn take(&self) -> Vec<LoggedRequest> {
        std::mem::take(&mut *self.0.lock())
    }

    /// The same for reads and writes of items alone.
    pub fn take_for_items(&self) -> Vec<LoggedRequest> {
        let mut requests = self.take();
        requests.retain(LoggedRequest::is_for_items);
        requests
    }
}

impl RequestObserver for RequestLog {
    fn on_request(&self, request: &Request) {
        let header = |name: &HeaderName| request.headers().get_optional_str(name).map(str::to_owned);
        self.0.lock().push(LoggedRequest {
            method: request.method().as_str().to_owned(),
            path: request.url().path().to_owned(),
            priority_level: header(&PRIORITY_LEVEL),
            throughput_bucket: header(&THROUGHPUT_BUCKET),
            autoscale_settings: header(&AUTOSCALE_SETTINGS),
        });
    }
}
