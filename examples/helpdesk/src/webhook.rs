//! Webhook: sends each message to a receiver over HTTP, at least once. The change feed processor keeps the
//! leases, the order, the checkpoints and the dead letters.

use std::time::Duration;

use async_trait::async_trait;
use onehop_change_feed::{Handler, HandlerCall, HandlerError};
use onehop_store::{Change, ContainerName};
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};

use crate::desk::TICKETS;

/// The webhook of new messages.
pub struct Webhook {
    client: reqwest::Client,
    url: String,
}

impl Webhook {
    /// A webhook that sends messages to this address.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self { client: reqwest::Client::new(), url: url.into() }
    }
}

#[async_trait]
impl Handler for Webhook {
    fn name(&self) -> &'static str {
        "message-webhook"
    }

    fn source(&self) -> ContainerName {
        TICKETS
    }

    fn types(&self) -> Option<&[&'static str]> {
        Some(&["message"])
    }

    async fn handle(&self, change: &Change, _call: HandlerCall<'_>) -> Result<(), HandlerError> {
        // A rename writes the message again. The receiver knows it by this key.
        let request = self.client.post(&self.url).header("idempotency-key", &*change.id);
        let request = request.header(CONTENT_TYPE, "application/json").body(change.item.body.clone());
        let response = request.send().await.map_err(HandlerError::retry)?;
        match response.status().as_u16() {
            200..300 => Ok(()),
            status @ (429 | 500..) => {
                let after =
                    response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
                let message = format!("the receiver answered {status}");
                Err(HandlerError::Retry { message, after: after.map(Duration::from_secs) })
            }
            status => Err(HandlerError::park(format!("the receiver answered {status}"))),
        }
    }
}
