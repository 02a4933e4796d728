//! Media types of GraphQL over HTTP: the media types that a client accepts and sends. Knows headers, nothing
//! of GraphQL.

use std::cmp::Ordering;
use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT, CONTENT_TYPE},
};

/// The media types a response is served as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseType {
    /// `application/graphql-response+json`: the status distinguishes a request error from a result.
    GraphqlResponse,
    /// `application/json`: every well-formed request is answered with 200, for clients of before 2025.
    Json,
}

/// The delivery of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// As one response.
    Single(ResponseType),
    /// As `text/event-stream`.
    EventStream,
    /// As an event stream where there is more than one result, which the client likes as much as a single
    /// response.
    Either(ResponseType),
}

impl ResponseType {
    /// The value of the `Content-Type` header.
    pub fn header_value(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::GraphqlResponse => "application/graphql-response+json; charset=utf-8",
            Self::Json => "application/json; charset=utf-8",
        })
    }
}

/// Content negotiation: the `Accept` header of a request, read once.
///
/// Without the header a client gets `application/graphql-response+json`, as the specification has it since 1
/// January 2025. A bare wildcard, which `fetch` and curl send by themselves, means `application/json`: such a
/// client has not said that it knows the newer type. Between two types named with the same weight the newer
/// one wins.
#[derive(Debug, Clone, Copy, Default)]
pub struct Accept {
    is_stated: bool,
    graphql_response: Preference,
    json: Preference,
    /// The weight of `text/event-stream` where the client names it; 0 where it does not.
    event_stream: u16,
}

impl Accept {
    /// The media type of the response to a request with these headers.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Self {
        let mut accept = Self::default();
        for range in accepted_ranges(headers) {
            accept.is_stated = true;
            let Some((range, weight)) = parse_range(range) else { continue };
            accept.graphql_response.consider(range, "graphql-response+json", weight);
            accept.json.consider(range, "json", weight);
            if range.eq_ignore_ascii_case("text/event-stream") {
                accept.event_stream = accept.event_stream.max(weight);
            }
        }
        accept
    }

    /// The client's preferred delivery; `None` when it accepts no form of it. Only a client that names
    /// `text/event-stream` gets an event stream.
    #[must_use]
    pub fn delivery(self) -> Option<Delivery> {
        match (self.single(), self.event_stream) {
            (single, 0) => single.map(|(response_type, _)| Delivery::Single(response_type)),
            (None, _) => Some(Delivery::EventStream),
            (Some((response_type, weight)), event_stream) => Some(match weight.cmp(&event_stream) {
                Ordering::Less => Delivery::EventStream,
                Ordering::Equal => Delivery::Either(response_type),
                Ordering::Greater => Delivery::Single(response_type),
            }),
        }
    }

    /// The type of a single response that the client prefers; `None` when it accepts neither.
    #[must_use]
    pub fn response_type(self) -> Option<ResponseType> {
        self.single().map(|(response_type, _)| response_type)
    }

    /// The type of a single response that the client prefers, with its weight in thousandths.
    fn single(self) -> Option<(ResponseType, u16)> {
        let Self { is_stated, graphql_response, json, .. } = self;
        if !is_stated {
            return Some((ResponseType::GraphqlResponse, 1000));
        }
        let named_alike = graphql_response == json && json.specificity == Specificity::Named;
        if json.weight > 0 && !named_alike && json >= graphql_response {
            Some((ResponseType::Json, json.weight))
        } else if graphql_response.weight > 0 {
            Some((ResponseType::GraphqlResponse, graphql_response.weight))
        } else {
            None
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Accept {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.headers))
    }
}

fn accepted_ranges(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',').map(str::trim).filter(|range| !range.is_empty()))
}

/// Whether the body is `application/json` in UTF-8, the one content type that reaches execution. It is not
/// a "simple" type, so that a browser asks for leave before it sends one across origins.
pub fn is_json_request(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    let Ok(value) = value.to_str() else { return false };
    let mut parts = value.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    essence.eq_ignore_ascii_case("application/json") && parts.all(is_supported_parameter)
}

/// A client's preference for a type: by weight, then by the precision of its name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Preference {
    weight: u16,
    specificity: Specificity,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Specificity {
    #[default]
    Absent,
    Anything,
    Application,
    Named,
}

impl Preference {
    /// Takes the weight of a media range that matches more precisely than those seen before.
    fn consider(&mut self, range: &str, subtype: &str, weight: u16) {
        let specificity = match range.split_once('/') {
            Some(("*", "*")) => Specificity::Anything,
            Some((kind, "*")) if kind.eq_ignore_ascii_case("application") => Specificity::Application,
            Some((kind, name))
                if kind.eq_ignore_ascii_case("application") && name.eq_ignore_ascii_case(subtype) =>
            {
                Specificity::Named
            }
            _ => return,
        };
        if specificity > self.specificity || (specificity == self.specificity && weight > self.weight) {
            *self = Self { weight, specificity };
        }
    }
}

/// The media range and its weight in thousandths; `None` for a range that cannot be served or read.
fn parse_range(range: &str) -> Option<(&str, u16)> {
    let mut parts = range.split(';').map(str::trim);
    let media = parts.next()?;
    let mut weight = 1000;
    for parameter in parts {
        match parameter.split_once('=') {
            Some((name, value)) if name.trim().eq_ignore_ascii_case("q") => {
                weight = parse_weight(value.trim())?
            }
            _ if is_supported_parameter(parameter) => {}
            _ => return None,
        }
    }
    Some((media, weight))
}

/// A weight of RFC 9110: from 0 to 1, with at most three decimals.
fn parse_weight(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if decimals.len() > 3 || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let thousandths =
        decimals.bytes().chain(*b"000").take(3).fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    match (whole, thousandths) {
        ("0", _) => Some(thousandths),
        ("1", 0) => Some(1000),
        _ => None,
    }
}

/// Any parameter but a charset other than UTF-8.
fn is_supported_parameter(parameter: &str) -> bool {
    match parameter.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            let charset = value.trim().trim_matches('"');
            charset.eq_ignore_ascii_case("utf-8") || charset.eq_ignore_ascii_case("utf8")
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn negotiate(accept: &str) -> Option<ResponseType> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_str(accept).unwrap());
        Accept::of(&headers).response_type()
    }

    fn is_json(content_type: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_str(content_type).unwrap());
        is_json_request(&headers)
    }

    #[test]
    fn accept_header_selects_by_weight_then_specificity() {
        use ResponseType::{GraphqlResponse, Json};
        let cases = [
            ("application/graphql-response+json", Some(GraphqlResponse)),
            ("application/json", Some(Json)),
            ("APPLICATION/JSON", Some(Json)),
            ("application/graphql-response+json, application/json;q=0.9", Some(GraphqlResponse)),
            ("application/graphql-response+json;q=0.5, application/json;q=0.9", Some(Json)),
            ("application/json, application/graphql-response+json", Some(GraphqlResponse)),
            (
                "application/graphql-response+json; charset=utf-8, application/json; charset=utf-8",
                Some(GraphqlResponse),
            ),
            ("application/json, text/plain, */*", Some(Json)),
            ("*/*", Some(Json)),
            ("application/*", Some(Json)),
            ("application/*;q=0.2, */*;q=0.1", Some(Json)),
            ("*/*;q=0.1, application/graphql-response+json;q=0.2", Some(GraphqlResponse)),
            ("application/json;q=0, */*", Some(GraphqlResponse)),
            ("application/json;q=0.000, application/graphql-response+json;q=1.000", Some(GraphqlResponse)),
            ("application/graphql-response+json;charset=iso-8859-1, application/json", Some(Json)),
            ("", Some(GraphqlResponse)),
            ("text/html", None),
            ("application/json;q=0", None),
            ("application/json;charset=utf-16", None),
            ("application/json;q=2", None),
            ("*/*;q=0", None),
            ("nonsense", None),
        ];
        for (accept, expected) in cases {
            assert_eq!(negotiate(accept), expected, "Accept: {accept}");
        }
    }

    #[test]
    fn accept_headers_on_several_lines_count_as_one_list() {
        let mut headers = HeaderMap::new();
        headers.append(ACCEPT, HeaderValue::from_static("text/html"));
        headers.append(ACCEPT, HeaderValue::from_static("application/json"));
        assert_eq!(Accept::of(&headers).delivery(), Some(Delivery::Single(ResponseType::Json)));
    }

    #[test]
    fn an_event_stream_is_sent_to_those_who_name_it() {
        use Delivery::{Either, EventStream, Single};
        for (accept, expected) in [
            ("text/event-stream", Some(EventStream)),
            ("TEXT/event-stream; charset=utf-8", Some(EventStream)),
            ("text/event-stream, application/json;q=0.5", Some(EventStream)),
            ("text/event-stream, */*;q=0.1", Some(EventStream)),
            ("application/json, text/event-stream", Some(Either(ResponseType::Json))),
            (
                "application/graphql-response+json, text/event-stream",
                Some(Either(ResponseType::GraphqlResponse)),
            ),
            ("application/json, text/event-stream;q=0.9", Some(Single(ResponseType::Json))),
            ("text/event-stream;q=0, */*", Some(Single(ResponseType::Json))),
            ("*/*", Some(Single(ResponseType::Json))),
            ("text/*", None),
            ("text/event-stream;q=0", None),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(Accept::of(&headers).delivery(), expected, "Accept: {accept}");
        }
    }

    #[test]
    fn only_json_in_utf_8_is_a_request_body() {
        for accepted in [
            "application/json",
            "application/json; charset=utf-8",
            "application/json;charset=\"UTF-8\"",
            "Application/JSON",
        ] {
            assert!(is_json(accepted), "{accepted}");
        }
        for refused in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/json; charset=utf-16",
            "application/graphql",
            "application/jsonp",
            "",
        ] {
            assert!(!is_json(refused), "{refused}");
        }
        assert!(!is_json_request(&HeaderMap::new()));
    }
}
