//! The files for deployment say what the program says, and name nothing that is not there.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn file(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn the_template_takes_its_containers_from_that_file_alone() {
    let template = file("deploy/main.bicep");
    assert_eq!(template.matches("loadJsonContent('containers.json')").count(), 1);
    for word in ["includedPaths", "compositeIndexes", "partitionKey", "defaultTtl"] {
        assert!(!template.contains(word), "{word} is for containers.json to say");
    }
    assert!(template.contains("disableLocalAuth: true"));
    assert!(template.contains("00000000-0000-0000-0000-000000000002"));
}

/// What the Dockerfile copies out of the repository.
fn copied() -> Vec<String> {
    let dockerfile = file("Dockerfile");
    let copies = dockerfile.lines().filter_map(|line| line.strip_prefix("COPY "));
    let from_here = copies.filter(|arguments| !arguments.contains("--from="));
    let sources = from_here.flat_map(|arguments| {
        let mut words: Vec<&str> = arguments.split_whitespace().collect();
        words.pop();
        words
    });
    sources.map(str::to_owned).collect()
}

#[test]
fn the_sources_of_the_image_exist_and_are_not_ignored() {
    let ignored = file(".dockerignore");
    let let_through: Vec<&str> = ignored.lines().filter_map(|line| line.strip_prefix('!')).collect();
    let copied = copied();
    assert!(copied.len() >= 8, "{copied:?}");
    for source in copied {
        assert!(root().join(&source).exists(), "{source}");
        let let_through = let_through.iter().any(|path| Path::new(&source).starts_with(path));
        assert!(let_through, "{source} is ignored");
    }
}

#[test]
fn every_target_of_the_manifest_is_in_the_image() {
    let manifest = file("Cargo.toml");
    let copied = copied();
    for (section, directory) in [("[[bench]]", "benches"), ("[[example]]", "examples"), ("[[test]]", "tests")]
    {
        if manifest.contains(section) {
            assert!(copied.iter().any(|source| source == directory), "{directory}");
        }
    }
    let version = manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap();
    assert!(file("Dockerfile").contains(&format!("FROM rust:{}-", version.trim_matches('"'))));
}
