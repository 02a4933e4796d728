#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

use std::borrow::Cow;

use rust_embed::RustEmbed;

/// A file of the web build.
#[derive(Debug, Clone)]
pub struct WebFile {
    /// Its content.
    pub bytes: Cow<'static, [u8]>,
    /// The SHA-256 hash of its content.
    pub sha256: [u8; 32],
}

/// The file with a name below `web/dist`, such as `index.html` or `assets/index.js`.
#[must_use]
pub fn web_file(name: &str) -> Option<WebFile> {
    WebBuild::get(name).map(|file| WebFile { bytes: file.data, sha256: file.metadata.sha256_hash() })
}

#[derive(RustEmbed)]
#[folder = "$CARGO_MANIFEST_DIR/../../web/dist"]
#[allow_missing = true]
struct WebBuild;
