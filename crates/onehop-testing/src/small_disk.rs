//! A file system of a few megabytes, for tests of a full disk. It takes the rights of an administrator to
//! mount one.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system in memory, mounted until this is dropped.
pub struct SmallDisk {
    directory: tempfile::TempDir,
}

impl SmallDisk {
    /// `None`, and a line that says so, where this user may not mount one: the test is skipped then.
    pub fn mount(mebibytes: u64) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut command = Command::new("mount");
        command
            .args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m"), "onehop-test"])
            .arg(directory.path());
        match command.output() {
            Ok(output) if output.status.success() => Some(Self { directory }),
            Ok(output) => {
                let reason = String::from_utf8_lossy(&output.stderr).into_owned();
                eprintln!("SKIPPED: a small file system cannot be mounted here: {reason}");
                None
            }
            Err(error) => {
                eprintln!("SKIPPED: a small file system cannot be mounted here: {error}");
                None
            }
        }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Bytes that are free.
    pub fn free_bytes(&self) -> u64 {
        let found = rustix::fs::statvfs(self.path()).expect("the file system answers");
        found.f_bavail * found.f_frsize
    }

    /// Takes room away with a file, until only this many bytes are free. Removing the file gives it back.
    pub fn leave_free(&self, bytes: u64) -> PathBuf {
        let path = self.path().join("ballast");
        let ballast = self.free_bytes().checked_sub(bytes).expect("there is as much free");
        std::fs::write(&path, vec![1; usize::try_from(ballast).expect("a small disk")]).expect("room");
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Detaches the name, even while a process holds the file system open.
        let _ = Command::new("umount").arg("-l").arg(self.directory.path()).status();
    }
}
