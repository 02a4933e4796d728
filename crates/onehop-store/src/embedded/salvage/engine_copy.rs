//! Engine copy: a new engine beside a damaged one, and the exchange of both by renaming.
//!
//! The copy is made in `engine.unfinished`, and named `engine.recovered` when it is on the disk. Then the
//! damaged engine becomes `engine.damaged`, and the copy `engine`. A process that ends between the last two
//! steps leaves no `engine`, and the next opening completes the exchange. A process that ends before leaves
//! the damaged engine, and the next recovery begins again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::layout::{engine_path, sync_directory};

const UNFINISHED: &str = "engine.unfinished";
const RECOVERED: &str = "engine.recovered";
const DAMAGED: &str = "engine.damaged";

/// Where the copy is made. Removes the rest of a recovery that was cut off.
///
/// # Errors
/// The rest cannot be removed.
pub(super) fn begin(data: &Path) -> io::Result<PathBuf> {
    for name in [UNFINISHED, RECOVERED] {
        match fs::remove_dir_all(data.join(name)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    sync_directory(data)?;
    Ok(data.join(UNFINISHED))
}

/// Puts the copy in the place of the damaged engine, and returns where that is kept. `step` is called before
/// each renaming.
///
/// # Errors
/// A name cannot be changed. The directory can be opened as before, or as the copy.
pub(super) fn exchange(data: &Path, step: &mut dyn FnMut(SalvageStep)) -> io::Result<PathBuf> {
    sync_tree(&data.join(UNFINISHED))?;
    step(SalvageStep::Complete);
    fs::rename(data.join(UNFINISHED), data.join(RECOVERED))?;
    sync_directory(data)?;
    step(SalvageStep::Named);
    let kept = free_name(data);
    fs::rename(engine_path(data), &kept)?;
    sync_directory(data)?;
    step(SalvageStep::Moved);
    complete(data)?;
    Ok(kept)
}

/// Completes an exchange whose process ended between its last two steps.
///
/// # Errors
/// The name cannot be changed.
pub(in super::super) fn complete(data: &Path) -> io::Result<()> {
    let (engine, recovered) = (engine_path(data), data.join(RECOVERED));
    if engine.exists() || !recovered.is_dir() {
        return Ok(());
    }
    fs::rename(recovered, engine)?;
    sync_directory(data)
}

/// The steps of a salvage, for tests that end it in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum SalvageStep {
    /// A key space was copied.
    Copied,
    /// The entries fit the items.
    Fitted,
    /// The copy is on the disk.
    Complete,
    /// The copy has the name of a complete one.
    Named,
    /// The damaged engine has its new name.
    Moved,
}

/// The name under which a damaged engine is kept. A name of an earlier one is never taken.
fn free_name(data: &Path) -> PathBuf {
    let names = std::iter::once(DAMAGED.to_owned()).chain((2..).map(|number| format!("{DAMAGED}-{number}")));
    names.map(|name| data.join(name)).find(|path| !path.exists()).unwrap_or_else(|| data.join(DAMAGED))
}

/// Brings a directory with all its files to the disk.
fn sync_tree(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_tree(&entry.path())?;
        } else {
            fs::File::open(entry.path())?.sync_all()?;
        }
    }
    sync_directory(path)
}
