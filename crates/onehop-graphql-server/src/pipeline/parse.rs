//! Parse: the parameters of a GraphQL-over-HTTP request, read from a JSON body or from the query of a URL.
//! Knows whether a request is well-formed; whether its document makes sense is not asked here.

use std::time::Duration;

use async_graphql::{Extensions, Request, Value, Variables};
use axum::{
    body::Body,
    extract::Query,
    http::{HeaderMap, Uri},
};
use bytes::{Bytes, BytesMut};
use futures::TryStreamExt;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::resolve::DocumentReference;
use crate::json_size::VariableLimits;
use crate::limit_exceeded::LimitExceeded;
use crate::position::{InvalidPosition, POSITION, POSITION_HEADER};
use crate::trusted_documents::DocumentHash;

/// The largest body in bytes.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// How long a body may take to arrive.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(15);

/// How many times the limit of a body is read and thrown away before the answer, so that a client that
/// writes before it reads sees the answer and not a broken connection.
const DISCARDED_BODIES_MAX: usize = 4;

/// The extension in which Apollo's clients send the hash of a document.
const PERSISTED_QUERY: &str = "persistedQuery";

/// Why a request is not a well-formed GraphQL-over-HTTP request.
#[derive(Debug, thiserror::Error)]
pub enum MalformedRequest {
    #[error(transparent)]
    BodyTooLarge(LimitExceeded),
    #[error(transparent)]
    BodyTooSlow(LimitExceeded),
    #[error("The body could not be read to its end.")]
    BodyBroken,
    #[error("The body is not gzip, as its Content-Encoding says.")]
    BodyNotGzip,
    #[error("The body is empty: a GraphQL request is a JSON object with a `query`.")]
    BodyMissing,
    #[error(transparent)]
    OverLimit(#[from] LimitExceeded),
    #[error("The body is a batch: send its requests one by one.")]
    Batch,
    #[error("The body is not a GraphQL request: {}.", without_values(.0))]
    Body(#[source] serde_json::Error),
    #[error("The `query` parameter is missing, and so is `documentId`.")]
    QueryMissing,
    #[error(
        "`extensions.persistedQuery` must have `version` 1 and a `sha256Hash` of 64 hexadecimal digits in lower case."
    )]
    PersistedQuery,
    #[error("The parameters of the URL cannot be read: each may be given once.")]
    Parameters,
    #[error("The `{name}` parameter is not a JSON object: {}.", without_values(source))]
    Parameter { name: &'static str, source: serde_json::Error },
}

/// What is wrong with a JSON text. A value of the wrong type is not repeated: it may be a password.
fn without_values(error: &serde_json::Error) -> String {
    if error.is_data() {
        format!("a value has the wrong type at line {} column {}", error.line(), error.column())
    } else {
        error.to_string()
    }
}

/// What a request may be before its document is looked at.
#[derive(Debug, Clone, Copy)]
pub struct BodyLimits {
    pub bytes_max: usize,
    /// From the end of the head to the end of the body.
    pub timeout: Duration,
    pub variables: VariableLimits,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self { bytes_max: BODY_BYTES_MAX, timeout: BODY_TIMEOUT, variables: VariableLimits::default() }
    }
}

/// One GraphQL request.
#[derive(Debug)]
pub struct RequestParameters {
    /// Without its document.
    pub request: Request,
    /// Which document it is.
    pub reference: DocumentReference,
}

impl BodyLimits {
    /// Reads a body.
    ///
    /// # Errors
    /// It is too large, too slow, or breaks off.
    pub async fn read(&self, body: Body) -> Result<Bytes, MalformedRequest> {
        let seconds = usize::try_from(self.timeout.as_secs()).unwrap_or(usize::MAX);
        let too_slow = LimitExceeded::new("body-seconds", seconds, "The body took longer than", "seconds");
        let read = tokio::time::timeout(self.timeout, self.read_to_end(body)).await;
        read.unwrap_or(Err(MalformedRequest::BodyTooSlow(too_slow)))
    }

    async fn read_to_end(&self, body: Body) -> Result<Bytes, MalformedRequest> {
        let mut chunks = body.into_data_stream();
        let mut whole = Bytes::new();
        let mut joined = BytesMut::new();
        let mut length = 0_usize;
        while let Some(chunk) = chunks.try_next().await.map_err(|_| MalformedRequest::BodyBroken)? {
            length = length.saturating_add(chunk.len());
            if length > self.bytes_max {
                if length > self.bytes_max.saturating_mul(DISCARDED_BODIES_MAX) {
                    break;
                }
                joined = BytesMut::new();
            } else if length == chunk.len() {
                whole = chunk;
            } else {
                if joined.is_empty() {
                    joined.extend_from_slice(&whole);
                }
                joined.extend_from_slice(&chunk);
            }
        }
        match length {
            _ if length > self.bytes_max => Err(self.too_large()),
            _ if joined.is_empty() => Ok(whole),
            _ => Ok(joined.freeze()),
        }
    }

    pub(crate) fn too_large(&self) -> MalformedRequest {
        let (max, what) = (self.bytes_max, "The body has more than");
        MalformedRequest::BodyTooLarge(LimitExceeded::new("body-bytes-max", max, what, "bytes"))
    }

    /// What the body of a `POST` asks.
    ///
    /// # Errors
    /// It is no GraphQL request, or beyond a limit.
    pub fn parse(&self, body: &[u8]) -> Result<RequestParameters, MalformedRequest> {
        match body.trim_ascii_start().first() {
            None => Err(MalformedRequest::BodyMissing),
            Some(b'[') => Err(MalformedRequest::Batch),
            Some(_) => {
                let parameters: BodyParameters<'_> =
                    serde_json::from_slice(body).map_err(MalformedRequest::Body)?;
                self.request(parameters)
            }
        }
    }

    fn request(&self, parameters: BodyParameters<'_>) -> Result<RequestParameters, MalformedRequest> {
        let reference =
            DocumentReference { text: parameters.query, id: parameters.document_id, registered: None };
        let variables = self.object("variables", parameters.variables.map(RawValue::get))?;
        let extensions = self.object("extensions", parameters.extensions.map(RawValue::get))?;
        request(reference, parameters.operation_name, variables, extensions)
    }

    /// What the query of a `GET` URL asks.
    ///
    /// # Errors
    /// It is no GraphQL request, or beyond a limit.
    pub fn parse_uri(&self, uri: &Uri) -> Result<RequestParameters, MalformedRequest> {
        let Query(parameters) =
            Query::<UrlParameters>::try_from_uri(uri).map_err(|_| MalformedRequest::Parameters)?;
        let reference =
            DocumentReference { text: parameters.query, id: parameters.document_id, registered: None };
        let variables = self.object("variables", parameters.variables.as_deref())?;
        let extensions = self.object("extensions", parameters.extensions.as_deref())?;
        request(reference, parameters.operation_name, variables, extensions)
    }

    fn object<T: DeserializeOwned>(
        &self,
        name: &'static str,
        json: Option<&str>,
    ) -> Result<Option<T>, MalformedRequest> {
        match json {
            None | Some("") => Ok(None),
            Some(json) => {
                self.variables.check(json)?;
                serde_json::from_str(json).map_err(|source| MalformedRequest::Parameter { name, source })
            }
        }
    }
}

impl RequestParameters {
    /// The same, at the position that a header names, unless the request names one itself.
    ///
    /// # Errors
    /// The header is not plain text.
    pub(crate) fn at_position_of(mut self, headers: &HeaderMap) -> Result<Self, InvalidPosition> {
        let Some(position) = headers.get(POSITION_HEADER) else { return Ok(self) };
        let position = position.to_str().map_err(|_| InvalidPosition)?;
        self.request.extensions.entry(POSITION.to_owned()).or_insert_with(|| Value::from(position));
        Ok(self)
    }
}

/// What is null or left out in a body is the same; what is empty in a URL is, too.
#[derive(Deserialize)]
struct BodyParameters<'a> {
    query: Option<String>,
    #[serde(rename = "documentId")]
    document_id: Option<String>,
    #[serde(rename = "operationName")]
    operation_name: Option<String>,
    #[serde(borrow)]
    variables: Option<&'a RawValue>,
    #[serde(borrow)]
    extensions: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct UrlParameters {
    query: Option<String>,
    #[serde(rename = "documentId")]
    document_id: Option<String>,
    #[serde(rename = "operationName")]
    operation_name: Option<String>,
    variables: Option<String>,
    extensions: Option<String>,
}

fn request(
    mut reference: DocumentReference,
    operation_name: Option<String>,
    variables: Option<Variables>,
    extensions: Option<Extensions>,
) -> Result<RequestParameters, MalformedRequest> {
    let mut extensions = extensions.unwrap_or_default();
    reference.registered = registered_hash(extensions.remove(PERSISTED_QUERY))?;
    reference.id = reference.id.filter(|id| !id.is_empty());
    if reference.id.is_some() || reference.registered.is_some() {
        // Some clients send an empty text beside a hash.
        reference.text = reference.text.filter(|text| !text.is_empty());
    } else if reference.text.is_none() {
        return Err(MalformedRequest::QueryMissing);
    }
    let mut request = Request::new("");
    request.operation_name = operation_name.filter(|name| !name.is_empty());
    request.variables = variables.unwrap_or_default();
    request.extensions = extensions;
    Ok(RequestParameters { request, reference })
}

/// The hash in Apollo's extension.
fn registered_hash(extension: Option<Value>) -> Result<Option<DocumentHash>, MalformedRequest> {
    let Some(extension) = extension.filter(|extension| *extension != Value::Null) else { return Ok(None) };
    let Value::Object(extension) = extension else { return Err(MalformedRequest::PersistedQuery) };
    let is_known = extension.get("version") == Some(&Value::from(1));
    match extension.get("sha256Hash") {
        Some(Value::String(hash)) if is_known => {
            DocumentHash::parse(hash).map(Some).ok_or(MalformedRequest::PersistedQuery)
        }
        _ => Err(MalformedRequest::PersistedQuery),
    }
}
