//! Directory boundary (path traversal): reads studies of one directory, and no file outside of it, also where
//! a link or a setting names one. Files are checked before they are read, by their paths without links.

use std::path::{Path, PathBuf};

use super::errors::StudyErrors;
use super::reader::StudyDirectory;
use super::{DESIGNS_DIRECTORY, REQUESTS_FILE, SETTINGS_FILE};

/// Studies of a directory that are listed.
pub const LISTED_STUDIES_MAX: usize = 1_000;

/// A directory whose studies may be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyBoundary {
    /// Without links.
    root: PathBuf,
}

impl StudyBoundary {
    /// # Errors
    /// The directory does not exist.
    pub fn new(directory: &Path) -> std::io::Result<Self> {
        std::fs::read_dir(directory)?;
        Ok(Self { root: directory.canonicalize()? })
    }

    /// The studies: the directory itself as `.`, else the directories in it that have settings, sorted.
    #[must_use]
    pub fn studies(&self) -> Vec<String> {
        let is_study = |path: &Path| path.join(SETTINGS_FILE).is_file();
        if is_study(&self.root) {
            return vec![".".to_owned()];
        }
        let listed = std::fs::read_dir(&self.root).into_iter().flatten().flatten();
        let inside = listed.filter(|entry| is_study(&entry.path()) && self.contains(&entry.path()));
        let mut names: Vec<String> = inside
            .filter_map(|entry| entry.file_name().into_string().ok())
            .take(LISTED_STUDIES_MAX)
            .collect();
        names.sort();
        names
    }

    /// Reads a study by its path within the directory.
    ///
    /// # Errors
    /// All mistakes of its files, and files outside of the directory.
    pub fn read(&self, study: &str) -> Result<StudyDirectory, StudyErrors> {
        let path = self.root.join(study);
        self.check(study, &path, [""])?;
        let designs = std::fs::read_dir(path.join(DESIGNS_DIRECTORY)).into_iter().flatten().flatten();
        let designs = designs.filter_map(|entry| entry.file_name().into_string().ok());
        let designs: Vec<String> = designs.map(|name| format!("{DESIGNS_DIRECTORY}/{name}")).collect();
        let own = [SETTINGS_FILE, REQUESTS_FILE, DESIGNS_DIRECTORY];
        self.check(study, &path, own.into_iter().chain(designs.iter().map(String::as_str)))?;
        let directory = StudyDirectory::read(&path)?;
        self.check(study, &path, directory.settings.data.values().flatten().map(String::as_str))?;
        Ok(directory)
    }

    fn contains(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|found| found.starts_with(&self.root))
    }

    /// Files that do not exist are left to the reader, which names them; they cannot be read either.
    fn check<'a>(
        &self,
        study: &str,
        path: &Path,
        files: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), StudyErrors> {
        let mut errors = StudyErrors::default();
        for file in files {
            let full = path.join(file);
            let is_missing = !file.is_empty() && !full.exists() && !full.is_symlink();
            let is_missing_inside = is_missing && is_plain(study) && is_plain(file);
            if !self.contains(&full) && !is_missing_inside {
                let name = if file.is_empty() { study } else { file };
                errors.add(name, None, "the path leads outside of the directory that is served, or nowhere");
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

/// Whether a path has names alone: it is relative and does not go up.
fn is_plain(path: &str) -> bool {
    use std::path::Component;
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with a study `shop`, and a study outside of it.
    fn studies() -> (tempfile::TempDir, StudyBoundary) {
        let directory = tempfile::tempdir().unwrap();
        let design = "extend schema @model(name: \"s\", design: \"V1\") @container(name: \"o\", key: \"/id\")\n\
                      type Order @item(container: \"o\", write: CREATE) { id: ID! }";
        for study in ["served/shop", "served/other", "outside"] {
            let path = directory.path().join(study);
            std::fs::create_dir_all(path.join("designs")).unwrap();
            for (file, text) in [
                ("study.toml", "[data]\nOrder = \"orders.jsonl\"\n"),
                (
                    "requests.graphql",
                    "query Order($id: ID!) @request(perSecond: 5) { order(id: $id) { id } }",
                ),
                ("designs/v1.graphql", design),
                ("orders.jsonl", "{\"id\": \"1\"}\n"),
            ] {
                std::fs::write(path.join(file), text).unwrap();
            }
        }
        let boundary = StudyBoundary::new(&directory.path().join("served")).unwrap();
        (directory, boundary)
    }

    #[test]
    fn studies_inside_are_listed_and_read() {
        let (directory, boundary) = studies();
        assert_eq!(boundary.studies(), ["other", "shop"]);
        assert_eq!(boundary.read("shop").unwrap().designs.len(), 1);
        assert_eq!(boundary.read("shop/../other").unwrap().designs.len(), 1);
        let shop = StudyBoundary::new(&directory.path().join("served/shop")).unwrap();
        assert_eq!(shop.studies(), ["."]);
        assert!(shop.read(".").is_ok());
    }

    #[test]
    fn no_path_leads_outside() {
        let (directory, boundary) = studies();
        let outside = directory.path().join("outside");
        std::os::unix::fs::symlink(&outside, directory.path().join("served/linked")).unwrap();
        for study in ["../outside", outside.to_str().unwrap(), "linked", "shop/../../outside", "none"] {
            let errors = boundary.read(study).unwrap_err().to_string();
            assert!(errors.contains("outside of the directory that is served"), "{study}: {errors}");
        }
        assert_eq!(boundary.studies(), ["other", "shop"]);
    }

    #[test]
    fn no_file_of_a_study_leads_outside() {
        let (directory, boundary) = studies();
        let (shop, outside) = (directory.path().join("served/shop"), directory.path().join("outside"));
        let data = |file: &str| {
            std::fs::write(shop.join("study.toml"), format!("[data]\nOrder = {file:?}\n")).unwrap()
        };
        for file in ["../../outside/orders.jsonl", outside.join("orders.jsonl").to_str().unwrap()] {
            data(file);
            let errors = boundary.read("shop").unwrap_err().to_string();
            assert!(errors.contains(file) && errors.contains("outside"), "{errors}");
        }
        data("../other/orders.jsonl");
        assert!(boundary.read("shop").is_ok(), "it is in the served directory");
        for file in ["requests.graphql", "designs/v1.graphql", "study.toml"] {
            std::fs::remove_file(shop.join(file)).unwrap();
            std::os::unix::fs::symlink(outside.join(file), shop.join(file)).unwrap();
            let errors = boundary.read("shop").unwrap_err().to_string();
            assert!(errors.starts_with(&format!("{file}: the path leads outside")), "{errors}");
            std::fs::remove_file(shop.join(file)).unwrap();
            std::fs::copy(outside.join(file), shop.join(file)).unwrap();
        }
        std::fs::remove_file(shop.join("requests.graphql")).unwrap();
        let errors = boundary.read("shop").unwrap_err().to_string();
        assert!(errors.starts_with("requests.graphql: the file cannot be read"), "{errors}");
    }
}
