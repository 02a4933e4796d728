//! Rewrite of the engine's journal after a failed fsync, and after the end of a process that closed nothing.
//! The operating system may take pages for written that never reached the disk: reads still find them, and no
//! later fsync writes them again. Commits behind such a gap would be lost with the power. A copy of the
//! journal has pages of its own.
//!
//! Source: Rebello et al., "Can Applications Recover from fsync Failures?", USENIX ATC 2020.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use onehop_runtime::private_files;

use super::journal_files::journals;
use super::layout::sync_directory;

/// The extension of a copy that is not finished. The engine passes over it.
const UNFINISHED_EXTENSION: &str = "unfinished";
/// Bytes that are copied at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// Replaces the last journal of an engine that is closed with a copy that is on the disk. Earlier ones are
/// not written any more.
///
/// # Errors
/// The copy cannot be written. The journal is as it was.
pub(super) fn rewrite_last_journal(engine: &Path) -> io::Result<()> {
    let Some((_, journal)) = journals(engine)?.pop_last() else { return Ok(()) };
    let unfinished = journal.with_extension(UNFINISHED_EXTENSION);
    let copied = copy(&journal, &unfinished);
    if copied.is_err() {
        // The rest takes space, and is overwritten the next time.
        let _ = fs::remove_file(&unfinished);
    }
    copied?;
    fs::rename(&unfinished, &journal)?;
    sync_directory(engine)
}

/// Copies a journal through memory: a copy by the file system might share the pages that are not on the disk.
/// The zeros that the engine sets aside take no room.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = File::open(from)?;
    let mut to = private_files::file_options().write(true).create(true).truncate(true).open(to)?;
    let (mut block, zeros, mut copied) = (vec![0; BLOCK_BYTES], vec![0; BLOCK_BYTES], 0);
    loop {
        let bytes = from.read(&mut block)?;
        if bytes == 0 {
            break;
        }
        copied += bytes as u64;
        if block[..bytes] == zeros[..bytes] {
            to.set_len(copied)?;
            io::Seek::seek(&mut to, io::SeekFrom::Start(copied))?;
        } else {
            to.write_all(&block[..bytes])?;
        }
    }
    to.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_rewritten_journal_is_another_file_with_the_same_bytes() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let journal = directory.path().join("7.jnl");
        let data =
            [vec![7; 100], vec![0; 3 * BLOCK_BYTES], vec![8; 5], vec![0; 2 * BLOCK_BYTES + 1]].concat();
        fs::write(directory.path().join("3.jnl"), b"sealed").expect("written");
        fs::write(&journal, &data).expect("written");
        let before = journal.metadata().expect("a file").ino();
        rewrite_last_journal(directory.path()).expect("rewritten");
        assert!(fs::read(&journal).expect("read") == data);
        assert_ne!(journal.metadata().expect("a file").ino(), before);
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 2);
        assert_eq!(fs::read(directory.path().join("3.jnl")).expect("read"), b"sealed");
    }

    #[test]
    fn a_journal_that_cannot_be_copied_stays() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        rewrite_last_journal(directory.path()).expect("there is none");
        fs::write(directory.path().join("7.jnl"), b"data").expect("written");
        fs::create_dir(directory.path().join("7.unfinished")).expect("a directory in the way");
        assert!(rewrite_last_journal(directory.path()).is_err());
        assert_eq!(fs::read(directory.path().join("7.jnl")).expect("read"), b"data");
    }
}
