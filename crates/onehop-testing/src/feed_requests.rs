//! Requests for pages of a change feed, as they arrive at the emulator: the time to start at, and whether a
//! page came before.

use azure_core::http::Request;
use azure_core::http::headers::HeaderName;
use azure_data_cosmos_driver::in_memory_emulator::RequestObserver;
use parking_lot::Mutex;

/// A request for a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPageRequest {
    /// The `If-Modified-Since` header.
    pub since: Option<String>,
    /// Whether it goes on after a page.
    pub is_continued: bool,
}

/// Records requests for pages of all change feeds.
#[derive(Debug, Default)]
pub struct FeedRequests(Mutex<Vec<FeedPageRequest>>);

impl FeedRequests {
    /// Forgets the recorded requests, and returns them.
    pub fn take(&self) -> Vec<FeedPageRequest> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl RequestObserver for FeedRequests {
    fn on_request(&self, request: &Request) {
        let header = |name| request.headers().get_optional_string(&HeaderName::from_static(name));
        if header("a-im").is_some() && request.url().path().ends_with("/docs") {
            let (since, is_continued) = (header("if-modified-since"), header("if-none-match").is_some());
            self.0.lock().push(FeedPageRequest { since, is_continued });
        }
    }
}
