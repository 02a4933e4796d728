//! Data directory settings: its path, and the durability of writes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::SettingError;
use onehop_store::embedded::{
    DISK_RESERVE_BYTES_DEFAULT, Durability, EmbeddedConfig, PHYSICAL_PARTITIONS_MAX,
};

/// Bytes of a MiB.
const MIB: u64 = 1024 * 1024;

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

    /// Block cache of the embedded store, in MiB of memory
    #[arg(
        long,
        value_name = "MIB",
        env = "ONEHOP_CACHE_MIB",
        default_value_t = 128,
        value_parser = clap::value_parser!(u64).range(8..=1_048_576)
    )]
    pub cache_mib: u64,

    /// Disk space that stays free, in MiB. Writes that would leave less get UNAVAILABLE, and reads go on
    #[arg(
        long,
        value_name = "MIB",
        env = "ONEHOP_DISK_RESERVE_MIB",
        default_value_t = DISK_RESERVE_BYTES_DEFAULT / MIB,
        value_parser = clap::value_parser!(u64).range(0..=1_048_576)
    )]
    pub disk_reserve_mib: u64,
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

    /// The configuration of the embedded store.
    #[must_use]
    pub fn embedded(&self) -> EmbeddedConfig {
        EmbeddedConfig {
            durability: match self.durability {
                DurabilitySetting::Sync => Durability::Sync,
                DurabilitySetting::Relaxed => Durability::Relaxed,
            },
            physical_partitions: self.physical_partitions,
            cache_bytes: self.cache_mib * MIB,
            disk_reserve_bytes: self.disk_reserve_mib * MIB,
            ..EmbeddedConfig::new(&self.data)
        }
    }
}
