//! The client address of a request: the address of the connection, or behind proxies the address in their
//! headers. Only entries of trusted proxies are believed: each appends the address of its client to the
//! header, so it is read from the right.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::{Extensions, HeaderMap, HeaderName};

use onehop_runtime::trace_context::SpanContext;

/// The other end of a connection. [`Server`](super::server::Server) puts it into every request. A program
/// that serves the router otherwise adds it, or axum's `ConnectInfo<SocketAddr>`: without either, all
/// anonymous clients are one client.
#[derive(Debug, Clone, Copy)]
pub struct PeerAddress(pub IpAddr);

/// The proxies before the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Proxies {
    /// The number of proxies that each request passes; 0 when clients connect themselves.
    pub trusted: u8,
    pub header: ForwardingHeader,
}

/// Where proxies say by whom they were called. Only one is read: many proxies write one and leave the other
/// as the client sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ForwardingHeader {
    #[default]
    XForwardedFor,
    /// RFC 7239.
    Forwarded,
}

/// The users of one address: one IPv4 address, or the 64 bits of IPv6 that a site has at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Network {
    V4(Ipv4Addr),
    /// The first 64 bits.
    V6(u64),
    /// The address is not known: the router is served without the addresses of connections, as in a test.
    Unknown,
}

/// Where a request comes from, and the trace that it is part of.
#[derive(Debug, Clone, Copy)]
pub struct ClientAddress {
    pub network: Network,
    /// The span of the HTTP request, if it is traced.
    pub span: Option<SpanContext>,
}

impl ClientAddress {
    /// The address of a request without a connection, as in a test.
    pub const UNKNOWN: Self = Self { network: Network::Unknown, span: None };

    /// The address of a request with these headers, behind these proxies.
    pub(super) fn of(proxies: Proxies, headers: &HeaderMap, extensions: &Extensions) -> Self {
        Self { network: proxies.network(headers, extensions), span: extensions.get().copied() }
    }
}

impl Network {
    /// The network, unless it is unknown.
    pub(crate) fn known(self) -> Option<Self> {
        (self != Self::Unknown).then_some(self)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(address) => address.fmt(formatter),
            Self::V6(prefix) => write!(formatter, "{}/64", Ipv6Addr::from_bits(u128::from(*prefix) << 64)),
            Self::Unknown => formatter.write_str("unknown"),
        }
    }
}

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address),
            IpAddr::V6(address) => Self::V6((address.to_bits() >> 64) as u64),
        }
    }
}

impl Proxies {
    /// From where a request with these headers comes.
    #[must_use]
    pub fn network(self, headers: &HeaderMap, extensions: &Extensions) -> Network {
        let told = self.trusted.checked_sub(1).and_then(|nearer| self.told(headers, nearer));
        told.or_else(|| peer(extensions)).map_or(Network::Unknown, Network::from)
    }

    /// The entry of the farthest trusted proxy, beyond this many nearer ones. A client that bypasses some of
    /// them is known by the entry of the first proxy that it did not bypass.
    fn told(self, headers: &HeaderMap, nearer: u8) -> Option<IpAddr> {
        let name = match self.header {
            ForwardingHeader::XForwardedFor => HeaderName::from_static("x-forwarded-for"),
            ForwardingHeader::Forwarded => axum::http::header::FORWARDED,
        };
        let lines = headers.get_all(name).iter().rev();
        // A client may have written anything before the entry of its proxy, text or not.
        let said = lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
        let said = std::str::from_utf8(said.take(usize::from(nearer) + 1).last()?).ok()?;
        match self.header {
            ForwardingHeader::XForwardedFor => address(said),
            ForwardingHeader::Forwarded => address(forwarded_for(said)?),
        }
    }
}

/// The other end of the connection: as this crate's server has it, or axum's own.
fn peer(extensions: &Extensions) -> Option<IpAddr> {
    let ours = extensions.get::<PeerAddress>().map(|PeerAddress(address)| *address);
    ours.or_else(|| extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(address)| address.ip()))
}

/// The value of `for` in an element of `Forwarded`.
fn forwarded_for(element: &str) -> Option<&str> {
    let pairs = element.split(';').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.into_iter().find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
    Some(value.trim().trim_matches('"'))
}

/// An address with or without a port. An invalid address, such as `unknown`, gives `None`.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse::<IpAddr>().ok();
    address.or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const PEER: [u8; 4] = [10, 0, 0, 1];

    fn network(proxies: Proxies, headers: &[(&'static str, &str)]) -> Network {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        }
        let mut extensions = Extensions::new();
        extensions.insert(PeerAddress(IpAddr::from(PEER)));
        proxies.network(&map, &extensions)
    }

    fn behind(trusted: u8) -> Proxies {
        Proxies { trusted, header: ForwardingHeader::XForwardedFor }
    }

    fn v4(address: [u8; 4]) -> Network {
        Network::V4(address.into())
    }

    #[test]
    fn the_address_of_a_connection_is_taken_from_axum_too() {
        let of = |extensions: &Extensions| behind(0).network(&HeaderMap::new(), extensions);
        let mut extensions = Extensions::new();
        assert_eq!(of(&extensions), Network::Unknown);
        extensions.insert(ConnectInfo(SocketAddr::from(([192, 0, 2, 1], 80))));
        assert_eq!(of(&extensions), v4([192, 0, 2, 1]));
        extensions.insert(PeerAddress(IpAddr::from(PEER)));
        assert_eq!(of(&extensions), v4(PEER));
    }

    #[test]
    fn without_proxies_no_header_is_believed() {
        for name in ["x-forwarded-for", "forwarded"] {
            assert_eq!(network(behind(0), &[(name, "192.0.2.1")]), v4(PEER));
        }
    }

    #[test]
    fn as_many_addresses_are_believed_as_there_are_trusted_proxies() {
        let chain = [("x-forwarded-for", "1.1.1.1, 2.2.2.2"), ("x-forwarded-for", "3.3.3.3")];
        assert_eq!(network(behind(1), &chain), v4([3, 3, 3, 3]));
        assert_eq!(network(behind(2), &chain), v4([2, 2, 2, 2]));
        assert_eq!(network(behind(3), &chain), v4([1, 1, 1, 1]));
        assert_eq!(network(behind(9), &chain), v4([1, 1, 1, 1]));
        assert_eq!(network(behind(1), &[]), v4(PEER));
    }

    #[test]
    fn only_the_header_that_proxies_write_is_read() {
        let both = [("x-forwarded-for", "1.1.1.1"), ("forwarded", "for=2.2.2.2")];
        assert_eq!(network(behind(1), &both), v4([1, 1, 1, 1]));
        let forwarded = Proxies { trusted: 1, header: ForwardingHeader::Forwarded };
        assert_eq!(network(forwarded, &both), v4([2, 2, 2, 2]));
    }

    #[test]
    fn addresses_are_read_in_every_form_that_proxies_write() {
        let forwarded = Proxies { trusted: 1, header: ForwardingHeader::Forwarded };
        let v6 = Network::V6(0x2001_0db8_0000_0001);
        for (text, expected) in [
            ("for=192.0.2.60;proto=http;by=203.0.113.43", v4([192, 0, 2, 60])),
            ("proto=https; For=\"192.0.2.60:4711\"", v4([192, 0, 2, 60])),
            ("for=1.1.1.1, for=\"[2001:db8:0:1::17]:4711\"", v6),
            ("for=\"[2001:db8:0:1::17]\"", v6),
            ("for=unknown", v4(PEER)),
            ("for=_hidden", v4(PEER)),
            ("by=1.1.1.1", v4(PEER)),
        ] {
            assert_eq!(network(forwarded, &[("forwarded", text)]), expected, "{text}");
        }
        for (text, expected) in [
            ("192.0.2.60:4711", v4([192, 0, 2, 60])),
            ("2001:db8:0:1::17", v6),
            ("[2001:db8:0:1::17]:4711", v6),
            ("::ffff:192.0.2.60", v4([192, 0, 2, 60])),
            ("", v4(PEER)),
            ("1.1.1.1, not an address", v4(PEER)),
        ] {
            assert_eq!(network(behind(1), &[("x-forwarded-for", text)]), expected, "{text}");
        }
    }

    #[test]
    fn a_forged_forwarding_header_does_not_change_the_address() {
        let forwarded = Proxies { trusted: 1, header: ForwardingHeader::Forwarded };
        let open = [("forwarded", "for=\"1.1.1.1, for=2.2.2.2")];
        assert_eq!(network(forwarded, &open), v4([2, 2, 2, 2]));
        let mut no_text = HeaderMap::new();
        let value = HeaderValue::from_bytes(b"\xff\xfe, 2.2.2.2").unwrap();
        no_text.append("x-forwarded-for", value);
        assert_eq!(behind(1).network(&no_text, &Extensions::new()), v4([2, 2, 2, 2]));
    }

    #[test]
    fn a_site_of_ipv6_is_one_caller() {
        let of = |text: &str| Network::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(of("2001:db8:0:1::1"), of("2001:db8:0:1:ffff:ffff:ffff:ffff"));
        assert_ne!(of("2001:db8:0:1::1"), of("2001:db8:0:2::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
