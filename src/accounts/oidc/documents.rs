//! Reading the documents of an OpenID Connect provider over HTTP: small, in bounded time, from the address
//! that was asked for. The meaning of the documents is not known here.

use std::time::Duration;

use async_trait::async_trait;
use reqwest::{Client, StatusCode, Url, redirect};

/// The most time to connect to a provider.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The most time for one document from first to last byte.
pub const DOCUMENT_TIMEOUT: Duration = Duration::from_secs(5);
/// The most bytes of one document; large providers publish about ten kilobytes.
pub const DOCUMENT_BYTES_MAX: usize = 256 * 1024;

/// Where a provider's documents come from.
#[async_trait]
pub trait ProviderDocuments: Send + Sync {
    /// # Errors
    /// The document could not be had; the provider may be asked again later.
    async fn document(&self, address: &Url) -> Result<Vec<u8>, DocumentFault>;
}

#[derive(Debug, thiserror::Error)]
pub enum DocumentFault {
    #[error("the request failed")]
    Request(#[source] reqwest::Error),
    #[error("the answer has the status {0}")]
    Status(StatusCode),
    #[error("the answer has more than {DOCUMENT_BYTES_MAX} bytes")]
    TooLarge,
}

impl From<reqwest::Error> for DocumentFault {
    fn from(error: reqwest::Error) -> Self {
        Self::Request(error.without_url())
    }
}

/// ProviderDocuments over HTTP. It follows no redirect, which could lead from https to http.
#[derive(Debug, Clone)]
pub struct HttpProviderDocuments {
    client: Client,
}

impl HttpProviderDocuments {
    /// # Errors
    /// The system has no usable TLS roots.
    pub fn new() -> Result<Self, DocumentFault> {
        let client = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(DOCUMENT_TIMEOUT)
            .redirect(redirect::Policy::none())
            .user_agent(concat!("onehop/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { client })
    }
}

#[async_trait]
impl ProviderDocuments for HttpProviderDocuments {
    async fn document(&self, address: &Url) -> Result<Vec<u8>, DocumentFault> {
        let mut response = self.client.get(address.clone()).send().await?;
        if response.status() != StatusCode::OK {
            return Err(DocumentFault::Status(response.status()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if body.len() + chunk.len() > DOCUMENT_BYTES_MAX {
                return Err(DocumentFault::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}
