//! The session cookies of browsers, one for each kind of account: each holds the refresh token of a session
//! where no script can read it, and travels to the [`session endpoint`](super::session_endpoint) of its kind
//! alone. Only pages of this server get one; all other clients keep their tokens themselves.

use axum::http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{COOKIE, ORIGIN},
};

use crate::accounts::account_id::AccountKind;
use onehop_graphql_server::csrf::is_same_origin;

/// The path of the session endpoint of users, and of their cookie. Another kind of account has a path below
/// it.
pub const SESSION_PATH: &str = "/session";
/// By this header with the value `cookie` a page asks for the cookie when it signs in.
pub const SESSION_HEADER: HeaderName = HeaderName::from_static("onehop-session");

const WANTED: &str = "cookie";
/// The cookie of pages over HTTPS. Browsers take a name with this prefix over HTTPS only, so that no attacker
/// on the way of a request over plain HTTP can plant one.
const SECURE_PREFIX: &str = "__Secure-";

/// The session cookie of a page of this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionCookie {
    kind: AccountKind,
    is_secure: bool,
}

/// The path of the session endpoint of a kind of account.
#[must_use]
pub fn session_path(kind: AccountKind) -> String {
    match kind.prefix() {
        Some(prefix) => format!("{SESSION_PATH}/{prefix}"),
        None => SESSION_PATH.to_owned(),
    }
}

impl SessionCookie {
    /// The cookie of the page that sends a request; `None` unless it is one of this server. The page's own
    /// origin, which no script can forge, says whether it came over HTTPS, also behind a proxy.
    pub fn of_page(headers: &HeaderMap, kind: AccountKind) -> Option<Self> {
        let origin = headers.get(ORIGIN)?.to_str().ok()?;
        let is_secure = match origin.split_once("://")?.0 {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        is_same_origin(headers).then_some(Self { kind, is_secure })
    }

    /// The cookie that a request to sign in asks for.
    pub fn asked_for(headers: &HeaderMap, kind: AccountKind) -> Option<Self> {
        let wanted = headers.get(SESSION_HEADER).filter(|value| *value == WANTED);
        wanted.and_then(|_| Self::of_page(headers, kind))
    }

    /// The refresh token in the cookie of a request. If several cookies have the name, a sibling domain may
    /// have planted one: all are ignored.
    pub(super) fn read<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let pairs = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = pairs.flat_map(|pairs| pairs.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let own = self.name();
        let mut values = pairs.filter(|(name, _)| *name == own).map(|(_, value)| value);
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
        let (name, path) = (self.name(), session_path(self.kind));
        format!("{name}={value}; Path={path}; Max-Age={max_age_s}; HttpOnly; SameSite=Strict{secure}")
    }

    fn name(&self) -> String {
        let prefix = if self.is_secure { SECURE_PREFIX } else { "" };
        match self.kind.prefix() {
            Some(kind) => format!("{prefix}onehop-{kind}-session"),
            None => format!("{prefix}onehop-session"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AccountKind::{Customer, User};

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    fn of_page(lines: &[(&'static str, &'static str)]) -> Option<SessionCookie> {
        SessionCookie::of_page(&headers(lines), User)
    }

    #[test]
    fn each_kind_of_account_has_a_cookie_of_its_own() {
        let cookie = |is_secure| SessionCookie { kind: Customer, is_secure };
        let line = "onehop-customer-session=t; Path=/session/customer; Max-Age=2; HttpOnly; SameSite=Strict";
        assert_eq!(cookie(false).set("t", 2000), line);
        assert!(cookie(true).set("t", 0).starts_with("__Secure-onehop-customer-session=t; "));
        let both = headers(&[("cookie", "onehop-session=u; onehop-customer-session=c")]);
        assert_eq!(cookie(false).read(&both), Some("c"));
        assert_eq!(SessionCookie { kind: User, is_secure: false }.read(&both), Some("u"));
    }

    const HOST: (&str, &str) = ("host", "blog.example");

    #[test]
    fn the_session_cookie_is_secure_over_https() {
        let cookie = of_page(&[HOST, ("origin", "https://blog.example")]).unwrap();
        let line = "__Secure-onehop-session=t; Path=/session; Max-Age=2; HttpOnly; SameSite=Strict; Secure";
        assert_eq!(cookie.set("t", 2900), line);
        let cookie = of_page(&[HOST, ("origin", "http://blog.example")]).unwrap();
        assert_eq!(cookie.removed(), "onehop-session=; Path=/session; Max-Age=0; HttpOnly; SameSite=Strict");
        let proxied = [
            ("host", "10.0.0.1:8080"),
            ("origin", "https://blog.example"),
            ("sec-fetch-site", "same-origin"),
        ];
        assert!(of_page(&proxied).is_some());
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
            assert_eq!(of_page(lines), None, "{lines:?}");
        }
        let page = [HOST, ("origin", "https://blog.example")];
        assert_eq!(SessionCookie::asked_for(&headers(&page), User), None);
        let asking = [page[0], page[1], ("onehop-session", "cookie")];
        assert!(SessionCookie::asked_for(&headers(&asking), User).is_some());
    }

    #[test]
    fn one_cookie_is_read_and_several_are_not() {
        let cookie = SessionCookie { kind: User, is_secure: true };
        let read = |lines| cookie.read(&headers(lines)).map(str::to_owned);
        assert_eq!(read(&[("cookie", "a=b; __Secure-onehop-session=t; c")]).as_deref(), Some("t"));
        assert_eq!(read(&[("cookie", "onehop-session=t")]), None);
        assert_eq!(
            read(&[("cookie", "__Secure-onehop-session=t"), ("cookie", "__Secure-onehop-session=u")]),
            None
        );
    }
}
