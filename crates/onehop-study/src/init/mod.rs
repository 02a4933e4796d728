//! First study: types, ids and references found in data files, a normalised design, a design with the copies
//! that the requests need, a design with children beside their parent, and requests for each reference. The
//! files are commented and run at once.

mod composite_ids;
#[cfg(test)]
mod document_tests;
mod documents;
mod infer;
mod names;
mod references;
mod requests;
mod shapes;
mod sources;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod varied_data_tests;

use std::path::{Path, PathBuf};

use crate::directory::{DESIGNS_DIRECTORY, REQUESTS_FILE, SETTINGS_FILE, StudyErrors};

/// Writes a first study into a directory that has no study yet, and returns the written files.
///
/// # Errors
/// Data files that cannot be read or hold no items; a directory that has a study.
pub fn init_study(directory: &Path, data: &[PathBuf]) -> Result<Vec<PathBuf>, StudyErrors> {
    let mut errors = StudyErrors::default();
    if directory.join(SETTINGS_FILE).exists() {
        errors.add(SETTINGS_FILE, None, "the file exists already; another directory is expected");
        return Err(errors);
    }
    let mut found = infer::infer(data, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    references::find_references(&mut found);
    let mut files = vec![(SETTINGS_FILE.to_owned(), documents::settings(directory, &found))];
    let designs = documents::designs(&found).into_iter();
    files.extend(designs.map(|(name, text)| (format!("{DESIGNS_DIRECTORY}/{name}"), text)));
    files.push((REQUESTS_FILE.to_owned(), requests::requests(&found)));
    let mut written = Vec::new();
    let created = std::fs::create_dir_all(directory.join(DESIGNS_DIRECTORY));
    for (file, text) in files {
        let path = directory.join(&file);
        match created
            .as_ref()
            .map_err(ToString::to_string)
            .and_then(|()| std::fs::write(&path, text).map_err(|error| error.to_string()))
        {
            Ok(()) => written.push(path),
            Err(error) => errors.add(&file, None, format!("the file cannot be written: {error}")),
        }
    }
    if errors.is_empty() { Ok(written) } else { Err(errors) }
}
