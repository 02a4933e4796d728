//! Sources: the files of each crate without comments and test modules, and the paths that their `use` items
//! import.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A module path within a crate, such as `["embedded", "writer"]`; empty for the root.
pub type ModulePath = Vec<String>;

/// The source files of one crate.
pub struct CrateSources {
    pub name: String,
    /// The text of each module, without comments and test modules.
    pub modules: BTreeMap<ModulePath, String>,
}

/// The root package and the crates of the workspace.
pub fn workspace() -> Vec<CrateSources> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = vec![crate_at("onehop", &root.join("src"))];
    for entry in fs::read_dir(root.join("crates")).expect("the crates") {
        let path = entry.expect("a crate").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        found.push(crate_at(&name, &path.join("src")));
    }
    found
}

fn crate_at(name: &str, source: &Path) -> CrateSources {
    let mut modules = BTreeMap::new();
    for file in files_below(source, &["rs"]) {
        let relative = file.strip_prefix(source).expect("a file of the crate").with_extension("");
        let mut path: ModulePath =
            relative.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        if matches!(path.last().map(String::as_str), Some("mod" | "lib" | "main")) {
            path.pop();
        }
        let text = production_code(&fs::read_to_string(&file).expect("a source file"));
        modules.entry(path).or_insert_with(String::new).push_str(&text);
    }
    CrateSources { name: name.to_owned(), modules }
}

/// The files with one of these extensions, at any depth.
pub fn files_below(directory: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            files.extend(files_below(&path, extensions));
        } else if path.extension().is_some_and(|extension| extensions.iter().any(|known| extension == *known))
        {
            files.push(path);
        }
    }
    files
}

/// The text without line comments and without the test module after `#[cfg(test)]`. Test modules end their
/// files.
fn production_code(text: &str) -> String {
    let mut lines = text.lines().peekable();
    let mut code = String::new();
    while let Some(line) = lines.next() {
        let is_test_module =
            |next: &&str| next.trim_start().starts_with("mod ") && next.trim_end().ends_with('{');
        if line.trim() == "#[cfg(test)]" && lines.peek().is_some_and(is_test_module) {
            break;
        }
        if !line.trim_start().starts_with("//") {
            code.push_str(line);
            code.push('\n');
        }
    }
    code
}

impl CrateSources {
    /// The paths that the `use` items of a module import, as written. Re-exports (`pub use`) are no imports.
    pub fn imports(&self, module: &ModulePath) -> Vec<Vec<String>> {
        let mut paths = Vec::new();
        let mut rest = self.modules[module].as_str();
        while let Some(start) = rest.find("use ") {
            let is_item = rest[..start].rsplit('\n').next().is_some_and(|before| before.trim().is_empty());
            rest = &rest[start + "use ".len()..];
            let Some(end) = rest.find(';') else { break };
            if is_item {
                paths.extend(expand(&rest[..end]));
                rest = &rest[end..];
            }
        }
        paths.into_iter().map(|path| path.split("::").map(|part| part.trim().to_owned()).collect()).collect()
    }

    /// The module of this crate in which an imported path lies; `None` for other crates.
    pub fn resolve(&self, module: &ModulePath, path: &[String]) -> Option<ModulePath> {
        let first = path.first()?;
        let (mut base, rest): (ModulePath, _) = match first.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (module.clone(), &path[1..]),
            "super" => {
                let up = path.iter().take_while(|part| *part == "super").count();
                (module[..module.len().checked_sub(up)?].to_vec(), &path[up..])
            }
            name => {
                let child = [module.as_slice(), &[name.to_owned()]].concat();
                self.modules.contains_key(&child).then(|| (module.clone(), path))?
            }
        };
        for part in rest {
            base.push(part.clone());
            if !self.modules.contains_key(&base) {
                base.pop();
                break;
            }
        }
        Some(base)
    }
}

/// The paths of a `use` tree.
fn expand(tree: &str) -> Vec<String> {
    split_at_commas(tree)
        .into_iter()
        .flat_map(|part| match part.split_once('{') {
            Some((prefix, group)) => {
                let group = group.trim_end().strip_suffix('}').unwrap_or(group);
                expand(group).into_iter().map(|path| format!("{}{path}", prefix.trim())).collect()
            }
            None => vec![part.split(" as ").next().unwrap_or_default().trim().to_owned()],
        })
        .filter(|path| !path.is_empty())
        .collect()
}

fn split_at_commas(tree: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (place, character) in tree.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&tree[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    parts.push(&tree[start..]);
    parts
}

#[test]
fn a_use_tree_expands_to_its_paths() {
    let paths = expand("a::{b, c::{self, D as E},\n f::*}");
    assert_eq!(paths, ["a::b", "a::c::self", "a::c::D", "a::f::*"]);
}
