//! Reader of a study directory: settings, designs and requests; the data files are named and not read.

use std::path::{Path, PathBuf};

use onehop_model::{Model, RequestSet};

use super::errors::StudyErrors;
use super::settings::StudySettings;
use super::{DESIGNS_DIRECTORY, DESIGNS_MAX, REQUESTS_FILE, SETTINGS_FILE};

/// A study: its settings, designs and requests.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyDirectory {
    /// The directory.
    pub path: PathBuf,
    /// The settings.
    pub settings: StudySettings,
    /// The designs, in the order of their file names.
    pub designs: Vec<Design>,
    /// The requests.
    pub requests: RequestSet,
}

/// A design with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// The name that its model states, else the name of its file.
    pub name: String,
    /// The model.
    pub model: Model,
}

impl StudyDirectory {
    /// Reads the directory without its data.
    ///
    /// # Errors
    /// All mistakes of all files.
    pub fn read(path: &Path) -> Result<Self, StudyErrors> {
        let mut errors = StudyErrors::default();
        let settings =
            read_text(path, SETTINGS_FILE, &mut errors).map(|text| StudySettings::read(&text, &mut errors));
        let designs = read_designs(path, &mut errors);
        let requests = read_text(path, REQUESTS_FILE, &mut errors);
        let requests = requests.and_then(|text| parsed_requests(&text, &designs, &mut errors));
        if let Some(settings) = &settings {
            check_data(path, settings, &designs, &mut errors);
        }
        Self::of(path, (settings, designs, requests), errors)
    }

    /// A study whose files are texts, and whose items a program makes. `designs`: the names of their files,
    /// and their texts.
    ///
    /// # Errors
    /// All mistakes of all texts.
    pub fn of_texts(settings: &str, requests: &str, designs: &[(&str, &str)]) -> Result<Self, StudyErrors> {
        let mut errors = StudyErrors::default();
        let settings = StudySettings::read(settings, &mut errors);
        let designs = designs.iter().map(|(file, text)| ((*file).to_owned(), Some((*text).to_owned())));
        let designs = parsed_designs(designs, &mut errors);
        let requests = parsed_requests(requests, &designs, &mut errors);
        Self::of(Path::new(""), (Some(settings), designs, requests), errors)
    }

    fn of(
        path: &Path,
        parts: (Option<StudySettings>, Vec<Design>, Option<RequestSet>),
        errors: StudyErrors,
    ) -> Result<Self, StudyErrors> {
        match parts {
            (Some(settings), designs, Some(requests)) if errors.is_empty() => {
                Ok(Self { path: path.to_owned(), settings, designs, requests })
            }
            _ => Err(errors),
        }
    }
}

fn parsed_requests(text: &str, designs: &[Design], errors: &mut StudyErrors) -> Option<RequestSet> {
    let models: Vec<&Model> = designs.iter().map(|design| &design.model).collect();
    RequestSet::read(REQUESTS_FILE, text, &models).map_err(|found| errors.add_all(REQUESTS_FILE, &found)).ok()
}

fn read_text(directory: &Path, file: &str, errors: &mut StudyErrors) -> Option<String> {
    match std::fs::read_to_string(directory.join(file)) {
        Ok(text) => Some(text),
        Err(error) => {
            errors.add(file, None, format!("the file cannot be read: {error}"));
            None
        }
    }
}

fn read_designs(directory: &Path, errors: &mut StudyErrors) -> Vec<Design> {
    let listed = std::fs::read_dir(directory.join(DESIGNS_DIRECTORY));
    let mut files: Vec<String> = listed
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".graphql"))
        .collect();
    files.sort();
    if files.is_empty() || files.len() > DESIGNS_MAX {
        let message = format!(
            "1 to {DESIGNS_MAX} designs are expected, files such as v1.graphql; found {}",
            files.len()
        );
        errors.add(DESIGNS_DIRECTORY, None, message);
        return Vec::new();
    }
    let texts: Vec<(String, Option<String>)> = files
        .into_iter()
        .map(|name| {
            let text = read_text(directory, &format!("{DESIGNS_DIRECTORY}/{name}"), errors);
            (name, text)
        })
        .collect();
    parsed_designs(texts.into_iter(), errors)
}

/// The designs of files whose text is there.
fn parsed_designs(
    files: impl Iterator<Item = (String, Option<String>)>,
    errors: &mut StudyErrors,
) -> Vec<Design> {
    let mut designs: Vec<Design> = Vec::new();
    for (name, text) in files {
        let file = format!("{DESIGNS_DIRECTORY}/{name}");
        let Some(text) = text else { continue };
        match Model::read(&file, &text) {
            Err(found) => errors.add_all(&file, &found),
            Ok(model) => {
                let stem = name.trim_end_matches(".graphql");
                let name = model.design().unwrap_or(stem).to_owned();
                if designs.iter().any(|known| known.name == name) {
                    errors.add(
                        &file,
                        None,
                        format!("the design `{name}` stands in two files; @model(design:) names it"),
                    );
                }
                designs.push(Design { name, model });
            }
        }
    }
    designs
}

/// Data files exist, and each belongs to an item type of a design.
fn check_data(directory: &Path, settings: &StudySettings, designs: &[Design], errors: &mut StudyErrors) {
    for ty in settings.fixed.iter().filter(|ty| !settings.data.contains_key(*ty)) {
        errors.add(SETTINGS_FILE, None, format!("`fixed` names {ty}, which has no data files"));
    }
    for (ty, files) in &settings.data {
        for file in files.iter().filter(|file| !directory.join(file).is_file()) {
            errors.add(SETTINGS_FILE, None, format!("the data file {file} of {ty} does not exist"));
        }
        if !designs.is_empty() && designs.iter().all(|design| design.model.item(ty).is_none()) {
            let items = designs.iter().flat_map(|design| design.model.items());
            let known: std::collections::BTreeSet<&str> = items.map(|item| &*item.name).collect();
            let known = known.into_iter().collect::<Vec<_>>().join(", ");
            errors.add(
                SETTINGS_FILE,
                None,
                format!("`data.{ty}` is no item type of any design; their types: {known}"),
            );
        }
    }
}
