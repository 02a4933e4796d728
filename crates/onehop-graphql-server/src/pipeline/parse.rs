//! Parse: the parameters of a GraphQL-over-HTTP request, read from a JSON body or from the query of a URL.
//! Knows whether a request is well-formed; whether its document makes sense is not asked here.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use async_graphql::{Extensions, Request, Value, Variables};
use axum::{
    extract::Query,
    http::{HeaderMap, Uri},
};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::resolve::DocumentReference;
use crate::json_size::VariableLimits;
use crate::limit_exceeded::LimitExceeded;
use crate::position::{InvalidPosition, POSITION, POSITION_HEADER};
use crate::trusted_documents::DocumentHash;

/// The largest body in bytes.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// Timeout of the arrival of a body.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(15);

/// The time for which a body may bring nothing, and the most time that it may save up by bringing more than
/// the minimum rate.
pub const BODY_GRACE: Duration = Duration::from_secs(5);

/// The minimum rate of a body, in bytes a second.
pub const BODY_BYTES_PER_SECOND_MIN: u32 = 4 * 1024;

/// Bytes of the members of a request that GraphQL over HTTP does not define. Clients add small members of
/// their own.
pub const UNKNOWN_MEMBERS_BYTES_MAX: usize = 4 * 1024;

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

/// The problem with a JSON text. A value of the wrong type is not repeated: it may be a password.
fn without_values(error: &serde_json::Error) -> String {
    if error.is_data() {
        format!("a value has the wrong type at line {} column {}", error.line(), error.column())
    } else {
        error.to_string()
    }
}

/// The limits of a request before its document is looked at.
#[derive(Debug, Clone, Copy)]
pub struct BodyLimits {
    pub bytes_max: usize,
    /// From the end of the head to the end of the body.
    pub timeout: Duration,
    /// The time for which a body may bring nothing. Time that its bytes have bought by the minimum rate is
    /// saved up to this.
    pub grace: Duration,
    /// Minimum rate; 0 for none.
    pub bytes_per_second_min: u32,
    /// Bytes of top-level members that a request does not have.
    pub unknown_members_bytes_max: usize,
    pub variables: VariableLimits,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self {
            bytes_max: BODY_BYTES_MAX,
            timeout: BODY_TIMEOUT,
            grace: BODY_GRACE,
            bytes_per_second_min: BODY_BYTES_PER_SECOND_MIN,
            unknown_members_bytes_max: UNKNOWN_MEMBERS_BYTES_MAX,
            variables: VariableLimits::default(),
        }
    }
}

/// One GraphQL request.
#[derive(Debug)]
pub struct RequestParameters {
    /// Without its document.
    pub request: Request,
    /// The reference to the document.
    pub reference: DocumentReference,
}

impl BodyLimits {
    /// The request in the body of a `POST`.
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
                self.check_unknown_members(&parameters)?;
                self.request(parameters)
            }
        }
    }

    fn check_unknown_members(&self, parameters: &BodyParameters<'_>) -> Result<(), LimitExceeded> {
        let (max, what) = (self.unknown_members_bytes_max, "The request has more than");
        let exceeded = LimitExceeded::new("unknown-members-bytes-max", max, what, "bytes in unknown members");
        exceeded.unless(parameters.unknown_bytes <= max)
    }

    fn request(&self, parameters: BodyParameters<'_>) -> Result<RequestParameters, MalformedRequest> {
        let reference =
            DocumentReference { text: parameters.query, id: parameters.document_id, registered: None };
        let variables = self.object("variables", parameters.variables.map(RawValue::get))?;
        let extensions = self.object("extensions", parameters.extensions.map(RawValue::get))?;
        request(reference, parameters.operation_name, variables, extensions)
    }

    /// The request in the query of a `GET` URL.
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

/// The members of a body. A null member is treated as absent.
#[derive(Default)]
struct BodyParameters<'a> {
    query: Option<String>,
    document_id: Option<String>,
    operation_name: Option<String>,
    variables: Option<&'a RawValue>,
    extensions: Option<&'a RawValue>,
    /// Bytes of all other members.
    unknown_bytes: usize,
}

/// The name of a member of a body.
enum Member {
    Query,
    DocumentId,
    OperationName,
    Variables,
    Extensions,
    /// With the bytes of its name.
    Unknown(usize),
}

impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = Member;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the name of a member")
            }

            fn visit_str<E>(self, name: &str) -> Result<Member, E> {
                Ok(match name {
                    "query" => Member::Query,
                    "documentId" => Member::DocumentId,
                    "operationName" => Member::OperationName,
                    "variables" => Member::Variables,
                    "extensions" => Member::Extensions,
                    other => Member::Unknown(other.len()),
                })
            }
        }
        deserializer.deserialize_identifier(Name)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for BodyParameters<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BodyMembers)
    }
}

struct BodyMembers;

impl<'de> Visitor<'de> for BodyMembers {
    type Value = BodyParameters<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        /// The value of a member that stands there once.
        fn once<'de, A: MapAccess<'de>, T: Deserialize<'de>>(
            members: &mut A,
            seen: &mut HashSet<&'static str>,
            name: &'static str,
        ) -> Result<T, A::Error> {
            if seen.insert(name) { members.next_value() } else { Err(A::Error::duplicate_field(name)) }
        }
        let (mut parameters, mut seen) = (BodyParameters::default(), HashSet::new());
        while let Some(member) = members.next_key()? {
            match member {
                Member::Query => parameters.query = once(&mut members, &mut seen, "query")?,
                Member::DocumentId => parameters.document_id = once(&mut members, &mut seen, "documentId")?,
                Member::OperationName => {
                    parameters.operation_name = once(&mut members, &mut seen, "operationName")?;
                }
                Member::Variables => parameters.variables = once(&mut members, &mut seen, "variables")?,
                Member::Extensions => parameters.extensions = once(&mut members, &mut seen, "extensions")?,
                Member::Unknown(name_bytes) => {
                    let value: &RawValue = members.next_value()?;
                    parameters.unknown_bytes += name_bytes + value.get().len();
                }
            }
        }
        Ok(parameters)
    }
}

/// An empty parameter in a URL is treated as absent.
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
