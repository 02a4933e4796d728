//! Journal files of the engine: which there are, and where their data ends.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{SeekFrom, seek, tell};
use rustix::io::Errno;

pub(super) const JOURNAL_EXTENSION: &str = "jnl";
/// Bytes that are read at a time to find the end of the data in a journal.
const BLOCK_BYTES: usize = 1 << 20;

/// The highest number of a journal of an engine, 0 without a journal.
pub(super) fn last_journal(engine: &Path) -> io::Result<u64> {
    Ok(journals(engine)?.into_keys().next_back().unwrap_or(0))
}

/// The journals of an engine by their numbers.
pub(super) fn journals(engine: &Path) -> io::Result<BTreeMap<u64, PathBuf>> {
    let entries = match fs::read_dir(engine) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(error),
    };
    let mut found = BTreeMap::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == JOURNAL_EXTENSION)
            && let Some(number) = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok())
        {
            found.insert(number, path);
        }
    }
    Ok(found)
}

/// Where the data of a journal ends: behind its last byte that is not zero.
pub(super) fn data_end(journal: &Path) -> io::Result<u64> {
    data_end_of(&File::open(journal)?)
}

/// The same of an open journal, whose position stays.
pub(super) fn data_end_of(file: &File) -> io::Result<u64> {
    let position = tell(file)?;
    let end = find_data_end(file);
    seek(file, SeekFrom::Start(position))?;
    end
}

fn find_data_end(file: &File) -> io::Result<u64> {
    let zeros = vec![0; BLOCK_BYTES];
    let (mut block, mut end) = (vec![0; BLOCK_BYTES], file.metadata()?.len());
    while end > 0 {
        let start = end.saturating_sub(BLOCK_BYTES as u64);
        // The engine makes a journal as one hole, which would be read as 64 MiB of zeros.
        if is_hole(file, start, end) {
            end = start;
            continue;
        }
        let block = &mut block[..usize::try_from(end - start).unwrap_or(BLOCK_BYTES)];
        file.read_exact_at(block, start)?;
        if *block != zeros[..block.len()] {
            let last = block.iter().rposition(|byte| *byte != 0).unwrap_or(0);
            return Ok(start + last as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Whether a range of the file is a hole: the file system stores no data for it.
fn is_hole(file: &File, start: u64, end: u64) -> bool {
    match seek(file, SeekFrom::Data(start)) {
        Ok(data) => data >= end,
        // There is no data behind the start.
        Err(Errno::NXIO) => true,
        // The file system does not know holes.
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use super::*;

    #[test]
    fn the_data_of_a_journal_ends_at_its_last_byte() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("0.jnl");
        for (data, length) in [(0, 0), (0, 64 << 20), (5, 5), (5, (3 << 20) + 7), (BLOCK_BYTES, 2 << 20)] {
            fs::write(&file, vec![7; data]).expect("written");
            File::options().write(true).open(&file).expect("a file").set_len(length).expect("zeros");
            assert_eq!(data_end(&file).expect("read"), data as u64, "{data} of {length}");
        }
    }

    #[test]
    fn holes_before_and_behind_the_data_are_no_data() {
        let mut file = tempfile::tempfile().expect("a file");
        file.set_len(64 << 20).expect("a hole");
        for place in [0, 5 << 20, (9 << 20) + 17] {
            file.write_all_at(b"data", place).expect("written");
            assert_eq!(data_end_of(&file).expect("read"), place + 4);
        }
        // Zeros that are stored are no data, either.
        file.write_all_at(&[0; 4096], 40 << 20).expect("written");
        assert_eq!(data_end_of(&file).expect("read"), (9 << 20) + 21);

        file.seek(io::SeekFrom::Start(2)).expect("a position");
        data_end_of(&file).expect("read");
        let mut rest = [0; 2];
        file.read_exact(&mut rest).expect("read");
        assert_eq!(&rest, b"ta", "the position stays");
    }
}
