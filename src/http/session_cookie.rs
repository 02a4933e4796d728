//! The session cookie of browsers: it holds the refresh token of a session where no script can read it, and travels to the
//! [`session endpoint`](super::session_endpoint) alone. Only pages of this server get one; all other clients keep their tokens
//! themselves.

use axum::http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{COOKIE, ORIGIN},
};

use onehop_graphql_server::csrf::is_same_origin;

/// The path of the session endpoint, and of the cookie.
pub const SESSION_PATH: &str = "/session";
/// By this header with the value `cookie` a page asks for the cookie when it signs in.
pub const SESSION_HEADER: HeaderName = HeaderName::from_static("onehop-session");

const WANTED: &str = "cookie";
/// The cookie of pages over HTTPS. Browsers take a name with this prefix over HTTPS only, so that no attacker on the way of a request
/// over plain HTTP can plant one.
const NAME_OVER_HTTPS: &str = "__Secure-onehop-session";
const NAME_OVER_HTTP: &str = "onehop-session";

/// The session cookie of a page of this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionCookie {
    is_secure: bool,
}

impl SessionCookie {
    /// The cookie of the page that sends a request; `None` unless it is one of this server. The page's own origin, which no
    /// script can forge, says whether it came over HTTPS, also behind a proxy.
    pub fn of_page(headers: &HeaderMap) -> Option<Self> {
        let origin = headers.get(ORIGIN)?.to_str().ok()?;
        let is_secure = match origin.split_once("://")?.0 {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        is_same_origin(headers).then_some(Self { is_secure })
    }

    /// The cookie that a request to sign in asks for.
    pub fn asked_for(headers: &HeaderMap) -> Option<Self> {
        headers.get(SESSION_HEADER).filter(|value| *value == WANTED).and_then(|_| Self::of_page(headers))
    }

    /// The refresh token in the cookie of a request. Of several cookies with the name, one may be planted by a sibling domain:
    /// none is taken.
    pub(super) fn read<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let pairs = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = pairs.flat_map(|pairs| pairs.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut values = pairs.filter(|(name, _)| *name == self.name()).map(|(_, value)| value);
        match (values.next(), values.next()) {
            (Some(value), None) => Some(value),
            _ => None,
        }
    }

    /// `Set-Cookie` for a session that lasts so long.
    #[must_use]
    pub fn set(&self, refresh_token: &str, lasts_ms: i64) -> String {
        self.line(refresh_token, lasts_ms.max(0) / 1000)
    }

    /// `Set-Cookie` that removes the cookie.
    pub(super) fn removed(&self) -> HeaderValue {
        HeaderValue::from_str(&self.line("", 0)).unwrap_or_else(|_| HeaderValue::from_static(""))
    }

    fn line(&self, value: &str, max_age_s: i64) -> String {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let name = self.name();
        format!("{name}={value}; Path={SESSION_PATH}; Max-Age={max_age_s}; HttpOnly; SameSite=Strict{secure}")
    }

    fn name(&self) -> &'static str {
        if self.is_secure { NAME_OVER_HTTPS } else { NAME_OVER_HTTP }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    const HOST: (&str, &str) = ("host", "blog.example");

    #[test]
    fn the_session_cookie_is_secure_over_https() {
        let cookie = SessionCookie::of_page(&headers(&[HOST, ("origin", "https://blog.example")])).unwrap();
        let line = "__Secure-onehop-session=t; Path=/session; Max-Age=2; HttpOnly; SameSite=Strict; Secure";
        assert_eq!(cookie.set("t", 2900), line);
        let cookie = SessionCookie::of_page(&headers(&[HOST, ("origin", "http://blog.example")])).unwrap();
        assert_eq!(cookie.removed(), "onehop-session=; Path=/session; Max-Age=0; HttpOnly; SameSite=Strict");
        let proxied = [
            ("host", "10.0.0.1:8080"),
            ("origin", "https://blog.example"),
            ("sec-fetch-site", "same-origin"),
        ];
        assert!(SessionCookie::of_page(&headers(&proxied)).is_some());
    }

    #[test]
    fn other_sites_and_programs_get_no_cookie() {
        for lines in [
            &[HOST][..],
            &[HOST, ("sec-fetch-site", "same-origin")],
            &[HOST, ("origin", "null")],
            &[HOST, ("origin", "https://evil.example")],
            &[HOST, ("origin", "https://blog.example"), ("sec-fetch-site", "same-site")],
            &[HOST, ("origin", "https://blog.example"), ("sec-fetch-site", "none")],
            &[("origin", "https://blog.example")],
        ] {
            assert_eq!(SessionCookie::of_page(&headers(lines)), None, "{lines:?}");
        }
        let page = [HOST, ("origin", "https://blog.example")];
        assert_eq!(SessionCookie::asked_for(&headers(&page)), None);
        let asking = [page[0], page[1], ("onehop-session", "cookie")];
        assert!(SessionCookie::asked_for(&headers(&asking)).is_some());
    }

    #[test]
    fn one_cookie_is_read_and_several_are_not() {
        let cookie = SessionCookie { is_secure: true };
        let read = |lines| cookie.read(&headers(lines)).map(str::to_owned);
        assert_eq!(read(&[("cookie", "a=b; __Secure-onehop-session=t; c")]).as_deref(), Some("t"));
        assert_eq!(read(&[("cookie", "onehop-session=t")]), None);
        assert_eq!(
            read(&[("cookie", "__Secure-onehop-session=t"), ("cookie", "__Secure-onehop-session=u")]),
            None
        );
    }
}
