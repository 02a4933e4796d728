//! Archives of the engine: the sections of its table files and manifests, by the table of contents at the end
//! of the file.
//!
//! ```text
//! sections | TOC! | number of sections 4 | (place 8 | length 8 | name length 2 | name) ... |
//!          SFA! | version 1 | kind of checksum 1 | checksum of the contents 16 | their place 8 | length 8
//! ```
//!
//! The format is sfa's of version 1.0.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use xxhash_rust::xxh3::xxh3_128;

const TRAILER_BYTES: u64 = 38;
const TRAILER_START: &[u8] = b"SFA!\x01\x00";
const CONTENTS_START: &[u8] = b"TOC!";

/// The sections of a file.
#[derive(Debug)]
pub(super) struct Sections(Vec<(Vec<u8>, Range<u64>)>);

impl Sections {
    /// Reads the table of contents; `None` where it is damaged.
    pub(super) fn read(file: &File) -> Option<Self> {
        let end = file.metadata().ok()?.len().checked_sub(TRAILER_BYTES)?;
        let trailer = read(file, end..end + TRAILER_BYTES)?;
        let rest = trailer.strip_prefix(TRAILER_START)?;
        let checksum = u128::from_le_bytes(rest.get(..16)?.try_into().ok()?);
        let place = u64::from_le_bytes(rest.get(16..24)?.try_into().ok()?);
        let contents = read(file, place..end)?;
        if xxh3_128(&contents) != checksum {
            return None;
        }
        Self::parse(contents.strip_prefix(CONTENTS_START)?)
    }

    fn parse(contents: &[u8]) -> Option<Self> {
        let (count, mut rest) = contents.split_first_chunk()?;
        let mut sections = Vec::new();
        for _ in 0..u32::from_le_bytes(*count) {
            let (place, after) = rest.split_first_chunk()?;
            let (length, after) = after.split_first_chunk()?;
            let (name_length, after) = after.split_first_chunk()?;
            let (name, after) = after.split_at_checked(usize::from(u16::from_le_bytes(*name_length)))?;
            let place = u64::from_le_bytes(*place);
            sections.push((name.to_vec(), place..place.checked_add(u64::from_le_bytes(*length))?));
            rest = after;
        }
        Some(Self(sections))
    }

    /// The place of a section in the file.
    pub(super) fn place(&self, name: &str) -> Option<Range<u64>> {
        self.0.iter().find(|(known, _)| known == name.as_bytes()).map(|(_, place)| place.clone())
    }
}

/// Bytes of a file; `None` where they cannot be read, or lie behind its end.
pub(super) fn read(file: &File, place: Range<u64>) -> Option<Vec<u8>> {
    let length = usize::try_from(place.end.checked_sub(place.start)?).ok()?;
    if place.end > file.metadata().ok()?.len() {
        return None;
    }
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, place.start).ok()?;
    Some(bytes)
}
