//! The host allowlist: the names that the server answers to. A page of another site whose name is made to
//! point at this machine is of the same origin as the server to its browser; the name distinguishes them.
//! Knows the `Host` header only.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, Uri, header::HOST};

/// The names, without ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostAllowlist {
    /// Any name.
    Any,
    /// Names of this machine as it calls itself, and these.
    OfThisMachineAnd(Vec<String>),
    /// Only these.
    Only(Vec<String>),
}

impl HostAllowlist {
    /// The names in the settings. Without a setting, a server that only its own machine reaches answers to
    /// names of this machine alone, and any other server to every name.
    pub fn of(allowed: &[String], listen: SocketAddr) -> Self {
        let allowed: Vec<String> = allowed.iter().map(|host| host.to_ascii_lowercase()).collect();
        if listen.ip().is_loopback() {
            Self::OfThisMachineAnd(allowed)
        } else if allowed.is_empty() {
            Self::Any
        } else {
            Self::Only(allowed)
        }
    }

    /// Whether a request is for this server. HTTP/1.1 asks for exactly one `Host`.
    pub fn take(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let (names, is_machine) = match self {
            Self::Any => return true,
            Self::OfThisMachineAnd(names) => (names, true),
            Self::Only(names) => (names, false),
        };
        if is_machine && uri.host().is_none() && names_local_host(headers) {
            return true;
        }
        let Some(host) = host_of(uri, headers) else { return false };
        names.contains(&host) || (is_machine && is_of_this_machine(&host))
    }

    /// As [`take`](Self::take), or under an IP address: scrapers and probes have no other name for a
    /// container, and no page reaches an address by a name of its own (DNS rebinding) without sending that
    /// name.
    pub fn take_name_or_address(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        self.take(uri, headers) || host_of(uri, headers).is_some_and(|host| address_of(&host).is_some())
    }
}

/// Whether the only `Host` is `localhost`, with or without a port, as in most requests to this machine.
fn names_local_host(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(HOST).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    match value.as_bytes().strip_prefix(b"localhost") {
        Some([]) => true,
        Some([b':', port @ ..]) => (1..=5).contains(&port.len()) && port.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// The host that a request names, without its port and in lower case; `None` for no host, several or
/// different hosts.
fn host_of(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let mut values = headers.get_all(HOST).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let host = value.to_str().ok()?.parse::<axum::http::uri::Authority>().ok()?;
    // The target of a request may name a host, too.
    if uri.host().is_some_and(|other| !other.eq_ignore_ascii_case(host.host())) {
        return None;
    }
    Some(host.host().to_ascii_lowercase())
}

fn address_of(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

fn is_of_this_machine(host: &str) -> bool {
    let address = address_of(host);
    host == "localhost"
        || host.ends_with(".localhost")
        || address.is_some_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn takes(hosts: &HostAllowlist, host: &str) -> bool {
        let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_str(host).unwrap())]);
        hosts.take(&Uri::from_static("/graphql"), &headers)
    }

    fn hosts(allowed: &[&str], listen: &str) -> HostAllowlist {
        let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        HostAllowlist::of(&allowed, listen.parse().unwrap())
    }

    #[test]
    fn a_server_for_this_machine_answers_to_names_of_this_machine() {
        for listen in ["127.0.0.1:8080", "[::1]:8080"] {
            let hosts = hosts(&[], listen);
            for own in
                ["127.0.0.1:8080", "127.0.0.1", "LOCALHOST:9", "blog.localhost", "[::1]:8080", "127.9.9.9"]
            {
                assert!(takes(&hosts, own), "{own}");
            }
            for other in
                ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", "", "a b"]
            {
                assert!(!takes(&hosts, other), "{other}");
            }
        }
        assert!(takes(&hosts(&["Blog.example"], "127.0.0.1:8080"), "blog.EXAMPLE"));
    }

    #[test]
    fn without_an_allowlist_a_public_server_takes_any_host() {
        assert!(takes(&hosts(&[], "0.0.0.0:8080"), "anything.example"));
        let hosts = hosts(&["blog.example"], "0.0.0.0:8080");
        assert!(takes(&hosts, "blog.example:443"));
        assert!(!takes(&hosts, "localhost") && !takes(&hosts, "evil.example"));
    }

    #[test]
    fn health_checks_may_use_any_address_as_host() {
        let uri = Uri::from_static("/metrics");
        for hosts in [hosts(&[], "127.0.0.1:8080"), hosts(&["blog.example"], "0.0.0.0:8080")] {
            for (host, is_taken) in [
                ("10.1.2.3:9464", true),
                ("[fd00::1]:9464", true),
                ("evil.example", false),
                ("10.1.2.3.evil.example", false),
            ] {
                let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_str(host).unwrap())]);
                assert_eq!(hosts.take_name_or_address(&uri, &headers), is_taken, "{host}");
            }
        }
    }

    #[test]
    fn a_request_without_a_host_or_with_several_is_not_taken() {
        let hosts = hosts(&[], "127.0.0.1:8080");
        let uri = Uri::from_static("/");
        assert!(!hosts.take(&uri, &HeaderMap::new()));
        let mut twice = HeaderMap::from_iter([(HOST, HeaderValue::from_static("localhost"))]);
        assert!(hosts.take(&uri, &twice));
        twice.append(HOST, HeaderValue::from_static("localhost"));
        assert!(!hosts.take(&uri, &twice));
        let one = HeaderMap::from_iter([(HOST, HeaderValue::from_static("localhost"))]);
        assert!(!hosts.take(&Uri::from_static("http://evil.example/graphql"), &one));
    }
}
