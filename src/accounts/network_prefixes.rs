//! Network prefixes: the networks that a client's address belongs to, as the keys of rate limits and fair
//! queueing. An IPv4 address is its own network. For an IPv6 address the /64, the /56 and the /48 count: a
//! customer of a provider often has a /56 or a /48, and with it 256 or 65,536 networks of 64 bits.

use std::fmt;

/// The number of counted networks of one address.
pub const NETWORKS: usize = 3;

/// A network by its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Prefix {
    /// One IPv4 address.
    V4(u32),
    /// The first 64 bits of an IPv6 address, of which `length` count.
    V6 { bits: u64, length: u8 },
    /// There is no connection, as in a test.
    Unknown,
}

impl Prefix {
    /// Reads a network as [`Display`](fmt::Display) writes it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once(':')? {
            ("4", bits) => u32::from_str_radix(bits, 16).ok().map(Self::V4),
            ("6", rest) => {
                let (bits, length) = rest.split_once('/')?;
                let bits = u64::from_str_radix(bits, 16).ok()?;
                Some(Self::V6 { bits, length: length.parse().ok()? })
            }
            _ => None,
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(bits) => write!(formatter, "4:{bits:08x}"),
            Self::V6 { bits, length } => write!(formatter, "6:{bits:016x}/{length}"),
            Self::Unknown => formatter.write_str("unknown"),
        }
    }
}

/// The networks that a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptOrigin(Prefix);

impl AttemptOrigin {
    /// An IPv4 address.
    #[must_use]
    pub fn v4(address: u32) -> Self {
        Self(Prefix::V4(address))
    }

    /// The first 64 bits of an IPv6 address.
    #[must_use]
    pub fn v6(prefix: u64) -> Self {
        Self(Prefix::V6 { bits: prefix, length: 64 })
    }

    /// The unit of one address: an IPv4 address, or a /64.
    #[must_use]
    pub fn address(self) -> Prefix {
        self.0
    }

    /// The widest network: an IPv4 address, or a /48.
    #[must_use]
    pub fn site(self) -> Prefix {
        self.truncated(48)
    }

    /// All networks, the narrowest first. The place in the list is the kind of network; an IPv4 address is
    /// alone.
    #[must_use]
    pub fn networks(self) -> [Option<Prefix>; NETWORKS] {
        match self.0 {
            Prefix::V6 { .. } => [64, 56, 48].map(|length| Some(self.truncated(length))),
            alone => [Some(alone), None, None],
        }
    }

    fn truncated(self, length: u8) -> Prefix {
        match self.0 {
            Prefix::V6 { bits, .. } => Prefix::V6 { bits: bits & (u64::MAX << (64 - length)), length },
            alone => alone,
        }
    }
}

impl Default for AttemptOrigin {
    fn default() -> Self {
        Self(Prefix::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_address_belongs_to_three_networks() {
        let [one, two] = [0x2001_0db8_0001_0203, 0x2001_0db8_0001_02ff].map(AttemptOrigin::v6);
        let same: Vec<bool> = one.networks().iter().zip(two.networks()).map(|(a, b)| *a == b).collect();
        assert_eq!(same, [false, true, true]);
        assert_eq!(one.site(), AttemptOrigin::v6(0x2001_0db8_0001_ff00).site());
        assert_ne!(one.site(), AttemptOrigin::v6(0x2001_0db8_0002_0203).site());
    }

    #[test]
    fn an_ipv4_address_stands_alone() {
        let origin = AttemptOrigin::v4(0xC000_0201);
        assert_eq!(origin.networks(), [Some(origin.address()), None, None]);
        assert_eq!(origin.site(), origin.address());
    }

    #[test]
    fn a_network_is_read_as_it_was_written() {
        for prefix in [Prefix::V4(7), Prefix::V4(u32::MAX), Prefix::V6 { bits: 0x2001_0db8, length: 64 }] {
            assert_eq!(Prefix::parse(&prefix.to_string()), Some(prefix));
        }
        for text in ["", "4:", "4:x", "6:1", "7:1", "unknown"] {
            assert_eq!(Prefix::parse(text), None, "{text}");
        }
    }
}
