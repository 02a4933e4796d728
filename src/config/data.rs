//! Data directory settings: its path, and the durability of writes.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::SettingError;
use onehop_runtime::memory::memory_bytes;
use onehop_store::embedded::{
    ARCHIVE_KEPT_DEFAULT, DISK_RESERVE_BYTES_DEFAULT, Durability, EmbeddedConfig, LogArchiveConfig,
    PHYSICAL_PARTITIONS_MAX,
};

/// Bytes of a MiB.
const MIB: u64 = 1024 * 1024;
const HOUR_SECONDS: u64 = 3_600;
/// The caches without a setting: this share of the memory that the process may take, within these bounds.
const CACHE_SHARE: u64 = 8;
const CACHE_BYTES: std::ops::RangeInclusive<u64> = 64 * MIB..=2_048 * MIB;
/// The caches where the operating system does not say how much memory there is.
const CACHE_BYTES_UNKNOWN: u64 = 128 * MIB;

/// Durability of an acknowledged write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DurabilitySetting {
    /// On the disk: the write survives a power loss. Concurrent writes share one fsync (group commit)
    Sync,
    /// With the operating system: the write survives the end of the process, but not a power loss
    Relaxed,
}

/// Settings of the embedded store.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Embedded store")]
pub struct DataSettings {
    /// Data directory of the embedded store, for one process at a time; created where it is missing
    #[arg(long, value_name = "DIRECTORY", env = "ONEHOP_DATA", default_value = "./data")]
    pub data: PathBuf,

    /// Durability of an acknowledged write
    #[arg(long, value_enum, env = "ONEHOP_DURABILITY", default_value = "sync")]
    pub durability: DurabilitySetting,

    /// Physical partitions that the embedded store models; fixed when the directory is created [default: 4]
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_PHYSICAL_PARTITIONS",
        value_parser = clap::value_parser!(u16).range(1..=i64::from(PHYSICAL_PARTITIONS_MAX))
    )]
    pub physical_partitions: Option<u16>,

    /// Caches of the embedded store (blocks, items and pages), in MiB of memory [default: an eighth of the
    /// memory, at least 64 and at most 2048]
    #[arg(
        long,
        value_name = "MIB",
        env = "ONEHOP_CACHE_MIB",
        value_parser = clap::value_parser!(u64).range(8..=1_048_576)
    )]
    pub cache_mib: Option<u64>,

    /// Disk space that stays free, in MiB. Writes that would leave less get UNAVAILABLE, and reads go on
    #[arg(
        long,
        value_name = "MIB",
        env = "ONEHOP_DISK_RESERVE_MIB",
        default_value_t = DISK_RESERVE_BYTES_DEFAULT / MIB,
        value_parser = clap::value_parser!(u64).range(0..=1_048_576)
    )]
    pub disk_reserve_mib: u64,

    /// Log archive (archived write-ahead log): a directory, best on another disk, that gets every commit, for
    /// `restore --at`. Give the same one to every command that opens the data directory
    #[arg(long, value_name = "DIRECTORY", env = "ONEHOP_LOG_ARCHIVE")]
    pub log_archive: Option<PathBuf>,

    /// The time that the log archive keeps, in hours: a backup can be rolled forward that is no older
    #[arg(
        long,
        value_name = "HOURS",
        env = "ONEHOP_LOG_ARCHIVE_HOURS",
        default_value_t = ARCHIVE_KEPT_DEFAULT.as_secs() / HOUR_SECONDS,
        value_parser = clap::value_parser!(u64).range(1..=8_784)
    )]
    pub log_archive_hours: u64,
}

impl DataSettings {
    /// # Errors
    /// There is no such directory.
    pub fn require_directory(&self) -> Result<(), SettingError> {
        if self.data.is_dir() {
            return Ok(());
        }
        Err(SettingError::new(format!("--data {}: there is no such directory", self.data.display())))
    }

    /// The configuration for a command that reads all data once: without a setting its cache is small, since
    /// no block is read twice.
    #[must_use]
    pub fn embedded_for_scan(&self) -> EmbeddedConfig {
        let cache_bytes = self.cache_mib.map_or(*CACHE_BYTES.start(), |mib| mib * MIB);
        EmbeddedConfig { cache_bytes, ..self.embedded() }
    }

    /// The configuration of the embedded store.
    #[must_use]
    pub fn embedded(&self) -> EmbeddedConfig {
        EmbeddedConfig {
            durability: match self.durability {
                DurabilitySetting::Sync => Durability::Sync,
                DurabilitySetting::Relaxed => Durability::Relaxed,
            },
            physical_partitions: self.physical_partitions,
            cache_bytes: self.cache_mib.map_or_else(|| default_cache_bytes(memory_bytes()), |mib| mib * MIB),
            disk_reserve_bytes: self.disk_reserve_mib * MIB,
            log_archive: self.log_archive.as_ref().map(|directory| LogArchiveConfig {
                kept: Duration::from_secs(self.log_archive_hours * HOUR_SECONDS),
                ..LogArchiveConfig::new(directory)
            }),
            ..EmbeddedConfig::new(&self.data)
        }
    }
}

/// The caches for a process that may take this much memory.
fn default_cache_bytes(memory_bytes: Option<u64>) -> u64 {
    memory_bytes.map_or(CACHE_BYTES_UNKNOWN, |bytes| {
        (bytes / CACHE_SHARE).clamp(*CACHE_BYTES.start(), *CACHE_BYTES.end())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_a_share_of_the_memory_within_bounds() {
        let cache_mib = |memory_mib: Option<u64>| default_cache_bytes(memory_mib.map(|mib| mib * MIB)) / MIB;
        assert_eq!(cache_mib(Some(256)), 64);
        assert_eq!(cache_mib(Some(4_096)), 512);
        assert_eq!(cache_mib(Some(1 << 20)), 2_048);
        assert_eq!(cache_mib(None), 128);
    }
}
