//! The files for deployment agree with the program, and name nothing that does not exist.

use std::path::{Path, PathBuf};

use onehop::app::provisioning::LEASES_THROUGHPUT;
use onehop_change_feed::LEASES;
use onehop_store::cosmos::provision::Throughput;

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

/// The template without its comments, and with one space between words.
fn template() -> String {
    let template = file("deploy/main.bicep");
    let lines = template.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_template_sets_what_the_program_depends_on() {
    let template = template();
    for setting in [
        "enableMultipleWriteLocations: false",
        "for (region, index) in regions: { locationName: region.name failoverPriority: index isZoneRedundant: region.zoneRedundant }",
        "defaultConsistencyLevel: 'Session'",
        "enableBurstCapacity: isProvisioned",
        "enablePriorityBasedExecution: isProvisioned",
        "backupPolicy: { type: 'Continuous' continuousModeProperties: { tier: backupTier } }",
        "param backupTier string = 'Continuous7Days'",
        "logs: [ { category: 'DataPlaneRequests' enabled: true } { category: 'PartitionKeyRUConsumption' enabled: true } ]",
        "workspaceId: logAnalyticsWorkspaceId",
    ] {
        assert!(template.contains(setting), "{setting}");
    }
}

#[test]
fn the_identity_may_use_the_items_of_one_database() {
    let template = template();
    let role = "roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataContributor}' \
                scope: '${account.id}/dbs/${database.name}'";
    assert!(template.contains(role));
    assert_eq!(template.matches("sqlRoleDefinitions/${dataContributor}").count(), 1);
    // A role for the whole account reads no items.
    assert_eq!(template.matches("scope: account.id").count(), 1);
    assert!(template.contains("roleDefinitionId: metadataReader.id scope: account.id"));
    assert!(template.contains("dataActions: [ 'Microsoft.DocumentDB/databaseAccounts/readMetadata' ]"));
}

#[test]
fn the_template_names_one_stable_version_of_the_service() {
    let template = template();
    let (_, first) = template.split_once("'Microsoft.DocumentDB/databaseAccounts@").unwrap();
    let version = first.split('\'').next().unwrap();
    assert!(version.len() == "2025-10-15".len() && version >= "2025-10-15", "{version}");
    let resources = template.matches("'Microsoft.DocumentDB/").count() - 1;
    assert_eq!(template.matches(&format!("@{version}' =")).count(), resources, "but the data action");
}

/// `onehop provision` gives the leases the same throughput of their own.
#[test]
fn the_template_gives_the_leases_throughput_of_their_own() {
    let template = template();
    assert!(template.contains("param leasesAutoscaleMaxThroughput int = 1000"));
    assert_eq!(LEASES_THROUGHPUT, Throughput::Autoscale { max_ru: 1000 });
    assert!(template.contains(&format!(
        "isProvisioned && container.id == '{LEASES}' ? {{ autoscaleSettings: {{ maxThroughput: \
         leasesAutoscaleMaxThroughput }} }}"
    )));
}

/// The structure without a Bicep compiler: brackets are paired, and every name that is used is declared.
#[test]
fn the_template_is_well_formed() {
    let template = template();
    let mut open = Vec::new();
    for bracket in template.chars() {
        match bracket {
            '{' | '[' | '(' => open.push(bracket),
            '}' => assert_eq!(open.pop(), Some('{')),
            ']' => assert_eq!(open.pop(), Some('[')),
            ')' => assert_eq!(open.pop(), Some('(')),
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
    let declared = template.split("param ").skip(1).filter_map(|rest| rest.split(' ').next());
    let declared: Vec<&str> = declared.collect();
    assert!(declared.len() >= 10, "{declared:?}");
    for parameter in declared {
        assert!(template.matches(parameter).count() > 1, "{parameter} is not used");
    }
}

/// The paths that the Dockerfile copies out of the repository.
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
    let members = manifest.lines().find_map(|line| line.strip_prefix("members = [")).unwrap();
    for member in members.trim_end_matches(']').split(", ") {
        let member = member.trim_matches('"').trim_end_matches("/*");
        assert!(copied.iter().any(|source| source == member), "{member}");
    }
}

/// A version of Rust as `1.95`: its second number.
fn minor(version: &str) -> u32 {
    let (major, minor) = version.split_once('.').unwrap();
    assert_eq!(major, "1");
    minor.parse().unwrap()
}

#[test]
fn the_image_compiles_with_a_rust_that_is_new_enough() {
    let (manifest, dockerfile) = (file("Cargo.toml"), file("Dockerfile"));
    let least = manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap();
    let image = dockerfile.lines().find_map(|line| line.strip_prefix("FROM rust:")).unwrap();
    let (image, _) = image.split_once('-').unwrap();
    assert!(minor(image) >= minor(least.trim_matches('"')), "{image} < {least}");
}
