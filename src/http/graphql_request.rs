//! The parameters of a GraphQL-over-HTTP request, read from a JSON body or from the query of a URL.
//! Knows whether a request is well-formed; whether its document makes sense is not asked here.

use async_graphql::{Extensions, Request, Variables};
use axum::{body::Body, extract::Query, http::Uri};
use bytes::{Bytes, BytesMut};
use futures::TryStreamExt;
use serde::{Deserialize, de::DeserializeOwned};

/// How many times the limit of a body is read and thrown away before the answer, so that a client that
/// writes before it reads sees the answer and not a broken connection.
const DISCARDED_BODIES_MAX: usize = 4;

/// Why a request is not a well-formed GraphQL-over-HTTP request.
#[derive(Debug, thiserror::Error)]
pub enum MalformedRequest {
    #[error("The body is larger than {limit_bytes} bytes.")]
    BodyTooLarge { limit_bytes: usize },
    #[error("The body could not be read to its end.")]
    BodyBroken,
    #[error("The body is empty: a GraphQL request is a JSON object with a `query`.")]
    BodyMissing,
    #[error("Batches are not supported: send one GraphQL request per HTTP request.")]
    Batch,
    #[error("The body is not a GraphQL request: {}.", without_values(.0))]
    Body(#[source] serde_json::Error),
    #[error("The `query` parameter is missing.")]
    QueryMissing,
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

/// Reads a body of at most so many bytes.
pub async fn read_body(body: Body, limit_bytes: usize) -> Result<Bytes, MalformedRequest> {
    let mut chunks = body.into_data_stream();
    let mut whole = Bytes::new();
    let mut joined = BytesMut::new();
    let mut length = 0_usize;
    while let Some(chunk) = chunks.try_next().await.map_err(|_| MalformedRequest::BodyBroken)? {
        length = length.saturating_add(chunk.len());
        if length > limit_bytes {
            if length > limit_bytes.saturating_mul(DISCARDED_BODIES_MAX) {
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
        _ if length > limit_bytes => Err(MalformedRequest::BodyTooLarge { limit_bytes }),
        _ if joined.is_empty() => Ok(whole),
        _ => Ok(joined.freeze()),
    }
}

/// The request of a `POST` body.
pub fn from_body(body: &[u8]) -> Result<Request, MalformedRequest> {
    match body.trim_ascii_start().first() {
        None => return Err(MalformedRequest::BodyMissing),
        Some(b'[') => return Err(MalformedRequest::Batch),
        Some(_) => {}
    }
    let parameters: BodyParameters = serde_json::from_slice(body).map_err(MalformedRequest::Body)?;
    let query = parameters.query.ok_or(MalformedRequest::QueryMissing)?;
    Ok(request(query, parameters.operation_name, parameters.variables, parameters.extensions))
}

/// The request of the query of a `GET` URL.
pub fn from_uri(uri: &Uri) -> Result<Request, MalformedRequest> {
    let Query(parameters) =
        Query::<UrlParameters>::try_from_uri(uri).map_err(|_| MalformedRequest::Parameters)?;
    let query = parameters.query.ok_or(MalformedRequest::QueryMissing)?;
    let variables = object("variables", parameters.variables.as_deref())?;
    let extensions = object("extensions", parameters.extensions.as_deref())?;
    Ok(request(query, parameters.operation_name, variables, extensions))
}

/// What is null or left out in a body is the same; what is empty in a URL is, too.
#[derive(Deserialize)]
struct BodyParameters {
    query: Option<String>,
    #[serde(rename = "operationName")]
    operation_name: Option<String>,
    variables: Option<Variables>,
    extensions: Option<Extensions>,
}

#[derive(Deserialize)]
struct UrlParameters {
    query: Option<String>,
    #[serde(rename = "operationName")]
    operation_name: Option<String>,
    variables: Option<String>,
    extensions: Option<String>,
}

fn request(
    query: String,
    operation_name: Option<String>,
    variables: Option<Variables>,
    extensions: Option<Extensions>,
) -> Request {
    let mut request = Request::new(query);
    request.operation_name = operation_name.filter(|name| !name.is_empty());
    request.variables = variables.unwrap_or_default();
    request.extensions = extensions.unwrap_or_default();
    request
}

fn object<T: DeserializeOwned>(
    name: &'static str,
    json: Option<&str>,
) -> Result<Option<T>, MalformedRequest> {
    match json {
        None | Some("") => Ok(None),
        Some(json) => {
            serde_json::from_str(json).map_err(|source| MalformedRequest::Parameter { name, source })
        }
    }
}
