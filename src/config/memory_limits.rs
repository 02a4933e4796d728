//! Memory limits: the sum of all limits that take memory, compared with the memory that the process may take,
//! and lowered in a fixed order where the sum is larger. Knows numbers, and reads no setting.

use std::fmt;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// Memory of the process that no limit covers: code, threads, indexes of tables, documents, sessions and
/// counters. Measured: 103 to 110 MiB with 1.7 million items, of which 32 are memtables.
pub const BASE_BYTES: u64 = 80 * MIB;
/// Memory of one connection: buffers of a request or of a socket, and its task. 10,000 idle subscribers take
/// 86 MiB.
const CONNECTION_BYTES: u64 = 12 * KIB;
/// Memory of one password hash, by the parameters of OWASP.
const HASH_BYTES: u64 = 19 * MIB;
/// Password hashes that are computed at once.
const HASHES: u64 = 2;
/// Memtables of all key spaces together, as a multiple of their bytes: four that take writes, and eight that
/// are being written out.
const MEMTABLES: u64 = 12;
/// The share of the memory that the sum may take: the rest is for fragmentation and the page cache.
const SHARE_PERCENT: u64 = 90;
/// The least memory with which a server starts without a warning.
pub const MEMORY_BYTES_MIN: u64 = 256 * MIB;

/// The limits that take memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Bytes of the caches of the embedded store; 0 without one.
    pub cache_bytes: u64,
    /// Bytes of one memtable of the embedded store; 0 without one.
    pub memtable_bytes: u64,
    pub responses_bytes: u64,
    pub bodies_bytes: u64,
    /// Connections of all kinds.
    pub connections: u64,
}

/// A limit that was lowered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoweredLimit {
    /// The name of the setting, or of the part without a setting.
    pub limit: &'static str,
    pub wanted: u64,
    pub max: u64,
}

/// The limits that fit, and the limits that were lowered for that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FittedMemory {
    pub limits: MemoryLimits,
    /// In the order in which they were lowered.
    pub lowered: Vec<LoweredLimit>,
    /// The bytes that all limits take together now.
    pub sum: u64,
    /// The bytes that they may take; `None` where the operating system does not say.
    pub available: Option<u64>,
}

impl MemoryLimits {
    /// The bytes that all limits take together.
    #[must_use]
    pub fn sum(&self) -> u64 {
        BASE_BYTES
            + HASHES * HASH_BYTES
            + self.cache_bytes
            + self.memtable_bytes * MEMTABLES
            + self.responses_bytes
            + self.bodies_bytes
            + self.connections * CONNECTION_BYTES
    }

    /// The limits that fit into this memory: caches are lowered first, then the memory of responses and of
    /// bodies, then connections, and memtables last, each no further than its least value.
    #[must_use]
    pub fn fitting(self, memory_bytes: Option<u64>) -> FittedMemory {
        let available = memory_bytes.map(|bytes| bytes / 100 * SHARE_PERCENT);
        let mut fitted = self;
        let mut lowered = Vec::new();
        for part in PARTS {
            let excess = available.map_or(0, |available| fitted.sum().saturating_sub(available));
            let value = (part.value)(&mut fitted);
            let wanted = *value;
            *value = wanted.saturating_sub(excess.div_ceil(part.unit_bytes)).max(part.least.min(wanted));
            if *value < wanted {
                lowered.push(LoweredLimit { limit: part.limit, wanted, max: *value });
            }
        }
        FittedMemory { limits: fitted, lowered, sum: fitted.sum(), available }
    }
}

/// Connections for requests, and connections that stay open, of so many in all: both as wanted where there is
/// room, and otherwise half of them for each at most.
#[must_use]
pub fn split_connections(max: usize, requests: usize, live: usize) -> (usize, usize) {
    if requests.saturating_add(live) <= max {
        return (requests, live);
    }
    let live = live.min(max / 2);
    (requests.min(max - live), live)
}

impl FittedMemory {
    /// Whether the least limits take more memory than there is.
    #[must_use]
    pub fn is_too_small(&self) -> bool {
        self.available.is_some_and(|available| self.sum > available)
    }
}

impl fmt::Display for LoweredLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} from {} to {}", self.limit, self.wanted, self.max)
    }
}

/// A limit with its least value, and the bytes that one of its unit takes.
struct Part {
    limit: &'static str,
    least: u64,
    unit_bytes: u64,
    value: fn(&mut MemoryLimits) -> &mut u64,
}

/// In the order in which they are lowered: the least costly limit first.
const PARTS: [Part; 5] = [
    Part {
        limit: "--cache-mib, in bytes",
        least: 16 * MIB,
        unit_bytes: 1,
        value: |limits| &mut limits.cache_bytes,
    },
    Part {
        limit: "--responses-in-flight-bytes-max",
        least: 32 * MIB,
        unit_bytes: 1,
        value: |limits| &mut limits.responses_bytes,
    },
    Part {
        limit: "--bodies-in-flight-bytes-max",
        least: 8 * MIB,
        unit_bytes: 1,
        value: |limits| &mut limits.bodies_bytes,
    },
    Part {
        limit: "--connections-max with --live-connections",
        least: 1_024,
        unit_bytes: CONNECTION_BYTES,
        value: |limits| &mut limits.connections,
    },
    Part {
        limit: "bytes of a memtable",
        least: 2 * MIB,
        unit_bytes: MEMTABLES,
        value: |limits| &mut limits.memtable_bytes,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The limits of a server without settings, on a large machine.
    const DEFAULTS: MemoryLimits = MemoryLimits {
        cache_bytes: 2_048 * MIB,
        memtable_bytes: 16 * MIB,
        responses_bytes: 256 * MIB,
        bodies_bytes: 64 * MIB,
        connections: 30_000,
    };

    fn lowered(fitted: &FittedMemory) -> Vec<&'static str> {
        fitted.lowered.iter().map(|lowered| lowered.limit).collect()
    }

    #[test]
    fn a_large_machine_lowers_nothing() {
        for memory in [Some(16 << 30), None] {
            let fitted = DEFAULTS.fitting(memory);
            assert_eq!((fitted.limits, lowered(&fitted)), (DEFAULTS, vec![]));
        }
    }

    #[test]
    fn caches_are_lowered_first() {
        let fitted = DEFAULTS.fitting(Some(2 << 30));
        assert_eq!(lowered(&fitted), ["--cache-mib, in bytes"]);
        assert!(fitted.limits.cache_bytes > 16 * MIB && Some(fitted.sum) == fitted.available);
    }

    #[test]
    fn a_control_group_of_300_mb_lowers_all_and_fits() {
        let fitted = DEFAULTS.fitting(Some(300_000_000));
        assert_eq!(lowered(&fitted), PARTS.each_ref().map(|part| part.limit));
        assert!(fitted.sum <= 270_000_000 && !fitted.is_too_small(), "{fitted:?}");
    }

    #[test]
    fn the_least_memory_holds_the_least_limits() {
        assert!(!DEFAULTS.fitting(Some(MEMORY_BYTES_MIN)).is_too_small());
        assert!(DEFAULTS.fitting(Some(MEMORY_BYTES_MIN - 30 * MIB)).is_too_small());
    }

    #[test]
    fn connections_are_split_only_where_there_are_too_few() {
        assert_eq!(split_connections(30_000, 10_000, 20_000), (10_000, 20_000));
        assert_eq!(split_connections(1_024, 10_000, 20_000), (512, 512));
        assert_eq!(split_connections(1_024, 10_000, 24), (1_000, 24));
    }

    #[test]
    fn limits_below_the_least_stay() {
        let small = MemoryLimits { cache_bytes: 8 * MIB, memtable_bytes: 0, ..DEFAULTS };
        let fitted = small.fitting(Some(MEMORY_BYTES_MIN));
        assert_eq!((fitted.limits.cache_bytes, fitted.limits.memtable_bytes), (8 * MIB, 0));
    }
}
