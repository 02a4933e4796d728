//! Account resource: the write regions of an account, read by one request of the service's REST interface,
//! since the client does not expose them.
//!
//! An account with several write regions is refused. Each region judges `If-Match` for itself, so two of them
//! could accept conflicting writes, and the service would drop one of the two when it merges them.

use std::sync::Arc;
use std::time::Duration;

use azure_core::credentials::{Secret, TokenCredential};
use azure_core::hmac::hmac_sha256;
use azure_core::http::headers::{AUTHORIZATION, HeaderName};
use azure_core::http::{HttpClient, Method, Request, Url};
use azure_core::time::{OffsetDateTime, to_rfc7231};
use serde::Deserialize;

use crate::{Fault, FaultKind};

/// The version of the REST interface.
const SERVICE_VERSION: &str = "2020-07-15";
/// The scope of tokens for the data plane.
const TOKEN_SCOPE: &str = "https://cosmos.azure.com/.default";

/// The credential that signs a request: an account key, or an identity.
#[derive(Clone)]
pub(super) enum RequestCredential {
    Key(Secret),
    Token(Arc<dyn TokenCredential>),
}

/// An account that can be asked for its resource.
pub struct AccountReader {
    http: Arc<dyn HttpClient>,
    endpoint: Url,
    credential: RequestCredential,
}

/// The write regions of an account.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteRegions {
    /// Whether more than one region accepts writes. During a failover of an account with one write region two
    /// are listed.
    #[serde(default)]
    enable_multiple_write_locations: bool,
    #[serde(default)]
    writable_locations: Vec<WritableLocation>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct WritableLocation {
    name: String,
}

impl WriteRegions {
    /// Refuses an account with several write regions.
    ///
    /// # Errors
    /// The text names the regions, the reason and the remedy.
    pub fn require_one(&self) -> Result<(), Fault> {
        if !self.enable_multiple_write_locations {
            return Ok(());
        }
        let regions: Vec<&str> = self.writable_locations.iter().map(|region| region.name.as_str()).collect();
        let message = format!(
            "the account has several write regions ({}), and each of them judges conditional writes (If-Match) for itself: counts, \
             reservations of names and leases would be lost. Switch multiple-region writes off for this account \
             (enableMultipleWriteLocations: false); further regions for reading are fine",
            regions.join(", ")
        );
        Err(Fault::new(FaultKind::Internal, message))
    }
}

impl AccountReader {
    pub(super) fn new(http: Arc<dyn HttpClient>, endpoint: Url, credential: RequestCredential) -> Self {
        Self { http, endpoint, credential }
    }

    /// For an account key.
    #[must_use]
    pub fn with_key(http: Arc<dyn HttpClient>, endpoint: Url, key: &str) -> Self {
        Self::new(http, endpoint, RequestCredential::Key(Secret::new(key.to_owned())))
    }

    /// Reads the write regions.
    ///
    /// # Errors
    /// The account did not answer within this time, or not with its resource.
    pub async fn write_regions(&self, now_ms: i64, timeout: Duration) -> Result<WriteRegions, Fault> {
        let late = |_| Fault::new(FaultKind::Unavailable, "the account did not answer in time");
        tokio::time::timeout(timeout, self.read(now_ms)).await.map_err(late)?
    }

    async fn read(&self, now_ms: i64) -> Result<WriteRegions, Fault> {
        let mut url = self.endpoint.clone();
        url.set_path("/");
        let mut request = Request::new(url, Method::Get);
        let seconds = now_ms.div_euclid(1000);
        let date = OffsetDateTime::from_unix_timestamp(seconds).map_err(unreadable)?;
        let date = to_rfc7231(&date);
        let authorization = self.authorization(&date).await?;
        request.insert_header(AUTHORIZATION, authorization);
        request.insert_header(HeaderName::from_static("x-ms-date"), date);
        request.insert_header(HeaderName::from_static("x-ms-version"), SERVICE_VERSION);
        let response = self.http.execute_request(&request).await.map_err(unreadable)?;
        let response = response.try_into_raw_response().await.map_err(unreadable)?;
        if !response.status().is_success() {
            let message = format!("the account answered with the status {}", u16::from(response.status()));
            return Err(Fault::new(FaultKind::Unavailable, message));
        }
        serde_json::from_slice(response.body()).map_err(unreadable)
    }

    async fn authorization(&self, date: &str) -> Result<String, Fault> {
        let token = match &self.credential {
            RequestCredential::Key(key) => {
                let signature = hmac_sha256(&text_to_sign("", "", date), key).map_err(unreadable)?;
                format!("type=master&ver=1.0&sig={signature}")
            }
            RequestCredential::Token(credential) => {
                let token = credential.get_token(&[TOKEN_SCOPE], None).await.map_err(unreadable)?;
                format!("type=aad&ver=1.0&sig={}", token.token.secret())
            }
        };
        Ok(percent_encoded(&token))
    }
}

/// The text that an account key signs, for a GET:
/// <https://learn.microsoft.com/rest/api/cosmos-db/access-control-on-cosmosdb-resources>. The account's type
/// and link are empty.
fn text_to_sign(resource_type: &str, resource_link: &str, date: &str) -> String {
    format!("get\n{resource_type}\n{resource_link}\n{}\n\n", date.to_ascii_lowercase())
}

/// The text as the value of a URL's parameter.
fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len() + 16), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
        encoded
    })
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> Fault {
    Fault::new(FaultKind::Unavailable, "the account's write regions cannot be read").with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the REST interface's documentation.
    #[test]
    fn the_signature_is_that_of_the_documentation() {
        let key = "dsZQi3KtZmCv1ljt3VNWNm7sQUF1y5rJfC6kv5JiwvW0EndXdDku/dkKBp8/ufDToSxLzR4y+O/0H/t4bQtVNw==";
        let text = text_to_sign("dbs", "dbs/ToDoList", "Thu, 27 Apr 2017 00:51:12 GMT");
        let signature = hmac_sha256(&text, &Secret::new(key)).unwrap();
        let authorization = percent_encoded(&format!("type=master&ver=1.0&sig={signature}"));
        assert_eq!(
            authorization,
            "type%3Dmaster%26ver%3D1.0%26sig%3Dc09PEVJrgp2uQRkr934kFbTqhByc7TVr3OHyqlu%2Bc%2Bc%3D"
        );
    }

    fn regions(json: &str) -> WriteRegions {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn several_write_regions_are_refused_with_the_reason() {
        let several = regions(
            r#"{"id": "blog", "enableMultipleWriteLocations": true,
                "writableLocations": [{"name": "West Europe"}, {"name": "North Europe"}]}"#,
        );
        let text = several.require_one().unwrap_err().to_string();
        for part in ["West Europe, North Europe", "If-Match", "enableMultipleWriteLocations: false"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_failover_between_two_regions_is_no_reason() {
        let failing_over = regions(
            r#"{"enableMultipleWriteLocations": false,
                "writableLocations": [{"name": "West Europe"}, {"name": "North Europe"}]}"#,
        );
        assert!(failing_over.require_one().is_ok());
        assert!(regions("{}").require_one().is_ok(), "an emulator that does not say it has one region");
    }
}
