//! CSRF protection: requests that a page of another site makes a browser send. The only cookie belongs to the
//! session endpoint, which takes requests of our own pages alone ([`is_same_origin`]). Requests to all other
//! endpoints have no cookie, so they are anonymous, but they come from the inside of a network, at the cost
//! of the server. A request is taken in three cases: it holds a header that a page can send to another site
//! only after a preflight, the browser says that it comes from here, or no browser sent it. The CORS layer of
//! the router answers preflights.

use axum::http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN, USER_AGENT},
};

/// Headers that no form, link, image or script can send, and no `fetch` to another site without asking first.
/// Clients of GraphQL send the first on purpose.
const ASKED_FOR: [HeaderName; 4] = [
    HeaderName::from_static("apollo-require-preflight"),
    HeaderName::from_static("x-apollo-operation-name"),
    HeaderName::from_static("graphql-require-preflight"),
    AUTHORIZATION,
];

/// The content types of forms, which a page sends anywhere.
const OF_FORMS: [&str; 3] = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The beginning of the name of every browser.
const BROWSERS: &str = "Mozilla/";

/// Whether a request may come from a page of another site that is not allowed.
pub fn is_forged(method: &Method, headers: &HeaderMap, allowed_origins: &[HeaderValue]) -> bool {
    let is_asked_for =
        ASKED_FOR.iter().any(|name| headers.contains_key(name)) || has_own_content_type(headers);
    if is_asked_for || is_from_here(headers) || is_from_allowed(headers, allowed_origins) {
        return false;
    }
    // A client that posts can state a content type. A query in a URL has no content type.
    let is_read_only = method == Method::GET || method == Method::HEAD;
    !is_read_only || is_from_browser(headers)
}

/// Whether there is a content type that no form can have.
fn has_own_content_type(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(CONTENT_TYPE).iter().peekable();
    values.peek().is_some()
        && values.all(|value| {
            let essence =
                value.to_str().unwrap_or_default().split([';', ',']).next().unwrap_or_default().trim();
            essence.contains('/') && !OF_FORMS.iter().any(|form| essence.eq_ignore_ascii_case(form))
        })
}

/// Whether the browser says that one of our pages, or its user, asks. No page can write either header itself.
fn is_from_here(headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get(SEC_FETCH_SITE) {
        return site == "same-origin" || site == "none";
    }
    let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok()?.split_once("://"));
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    origin.is_some_and(|(_, origin)| host.is_some_and(|host| origin.eq_ignore_ascii_case(host)))
}

/// Whether the browser says that a page of this server asks. Unlike above, nothing else is taken for it.
pub fn is_same_origin(headers: &HeaderMap) -> bool {
    match headers.get(SEC_FETCH_SITE) {
        Some(site) => site == "same-origin",
        None => is_from_here(headers),
    }
}

fn is_from_allowed(headers: &HeaderMap, allowed_origins: &[HeaderValue]) -> bool {
    headers.get(ORIGIN).is_some_and(|origin| allowed_origins.contains(origin))
}

fn is_from_browser(headers: &HeaderMap) -> bool {
    let named = headers.get(USER_AGENT).is_some_and(|name| name.as_bytes().starts_with(BROWSERS.as_bytes()));
    named || headers.contains_key(ORIGIN) || headers.contains_key(SEC_FETCH_SITE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BROWSER: (&str, &str) =
        ("user-agent", "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/141.0");

    fn is_taken(method: &Method, headers: &[(&'static str, &str)]) -> bool {
        let headers = headers.iter().map(|(name, value)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).expect("a header"))
        });
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value);
        }
        !is_forged(method, &map, &[HeaderValue::from_static("https://blog.example")])
    }

    #[test]
    fn a_post_needs_a_content_type_or_a_header_that_no_form_sends() {
        for content_type in [
            "text/plain",
            "TEXT/PLAIN;charset=UTF-8",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "text/plain, application/json",
            "",
            "json",
        ] {
            assert!(!is_taken(&Method::POST, &[("content-type", content_type)]), "{content_type:?}");
            let twice = [("content-type", "application/json"), ("content-type", content_type)];
            assert!(!is_taken(&Method::POST, &twice), "{content_type:?}");
            for asked_for in
                ["apollo-require-preflight", "x-apollo-operation-name", "graphql-require-preflight"]
            {
                let headers = [("content-type", content_type), (asked_for, "true")];
                assert!(is_taken(&Method::POST, &headers), "{content_type:?} {asked_for}");
            }
        }
        assert!(!is_taken(&Method::POST, &[]));
        for content_type in
            ["application/json", "application/graphql-response+json; charset=utf-8", "text/xml"]
        {
            let headers = [("content-type", content_type), BROWSER, ("sec-fetch-site", "cross-site")];
            assert!(is_taken(&Method::POST, &headers), "{content_type}");
        }
    }

    #[test]
    fn csrf_protection_allows_get_from_own_pages_and_programs() {
        for headers in [
            &[][..],
            &[("user-agent", "curl/8.5.0"), ("accept", "*/*")],
            &[("user-agent", "node"), ("sec-fetch-mode", "cors")],
            &[BROWSER, ("sec-fetch-site", "same-origin")],
            &[BROWSER, ("sec-fetch-site", "none")],
            &[BROWSER, ("origin", "http://10.0.0.7:8080"), ("host", "10.0.0.7:8080")],
            &[BROWSER, ("sec-fetch-site", "cross-site"), ("origin", "https://blog.example")],
            &[BROWSER, ("sec-fetch-site", "cross-site"), ("authorization", "Bearer x")],
            &[BROWSER, ("apollo-require-preflight", "true")],
            &[BROWSER, ("content-type", "application/json")],
        ] {
            assert!(is_taken(&Method::GET, headers), "{headers:?}");
            assert!(is_taken(&Method::HEAD, headers), "{headers:?}");
        }
    }

    #[test]
    fn a_query_in_a_url_is_not_taken_from_pages_of_other_sites() {
        for headers in [
            &[("sec-fetch-site", "cross-site")][..],
            &[("sec-fetch-site", "same-site")],
            &[BROWSER, ("accept", "image/avif,image/webp,*/*;q=0.8")],
            &[BROWSER, ("accept", "application/graphql-response+json"), ("sec-fetch-site", "cross-site")],
            &[("origin", "https://evil.example"), ("host", "10.0.0.7:8080")],
            &[("origin", "null")],
            &[BROWSER, ("content-type", "text/plain")],
            &[
                BROWSER,
                ("sec-fetch-site", "same-site"),
                ("origin", "http://localhost"),
                ("host", "localhost"),
            ],
        ] {
            assert!(!is_taken(&Method::GET, headers), "{headers:?}");
        }
    }
}
