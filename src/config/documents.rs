//! Persisted document settings: trusted documents, and whether others run.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::BoolishValueParser;

use super::SettingError;
use onehop_graphql_server::trusted_documents::TrustedDocuments;

/// The largest file of trusted documents, in bytes.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Settings of persisted documents.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Trusted documents")]
pub struct DocumentSettings {
    /// Trusted (persisted) documents: JSON file with an object from `sha256:...` to document, which clients
    /// may send by hash. Each is checked against its hash, the limits and the schema at the start [default:
    /// none]
    #[arg(long, value_name = "FILE", env = "ONEHOP_TRUSTED_DOCUMENTS")]
    pub trusted_documents: Option<PathBuf>,

    /// Document allowlist: run the trusted documents and nothing else, introspection included. Any other
    /// document gets FORBIDDEN
    #[arg(
        long,
        env = "ONEHOP_TRUSTED_ONLY",
        value_parser = BoolishValueParser::new(),
        requires = "trusted_documents"
    )]
    pub trusted_only: bool,
}

impl DocumentSettings {
    /// The trusted documents of the file; empty without a file.
    ///
    /// # Errors
    /// The file cannot be read, or an entry is wrong; the text names it.
    pub fn trusted(&self) -> Result<TrustedDocuments, SettingError> {
        let Some(file) = &self.trusted_documents else { return Ok(TrustedDocuments::default()) };
        let named = |reason: &dyn std::fmt::Display| {
            SettingError::new(format!("--trusted-documents {}: {reason}", file.display()))
        };
        let json = read(file).map_err(|error| named(&error))?;
        TrustedDocuments::from_json(&json).map_err(|error| named(&error))
    }
}

fn read(file: &Path) -> std::io::Result<String> {
    let mut json = String::new();
    let read = std::fs::File::open(file)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut json)?;
    if read as u64 > FILE_BYTES_MAX {
        let reason = format!("the file has more than {FILE_BYTES_MAX} bytes");
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, reason));
    }
    Ok(json)
}
