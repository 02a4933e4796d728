//! The dependencies of the crates, which their users compile, too.

use std::process::Command;

/// Packages that compile C, or need a tool beside Rust.
const NEEDS_MORE_THAN_RUST: [&str; 6] = ["aws-lc-sys", "bindgen", "cc", "cmake", "openssl-sys", "ring"];

/// The names of all packages that a crate of this workspace needs.
fn packages_of(name: &str, features: &[&str]) -> Vec<String> {
    let tree = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["tree", "--locked", "--package", name, "--edges", "normal,build", "--prefix", "none"])
        .args(features)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).expect("UTF-8");
    tree.lines().filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
}

#[test]
fn the_embedded_store_and_its_readers_are_rust_alone() {
    for name in ["onehop-store", "onehop-change-feed", "onehop-read-models", "onehop-study"] {
        let packages = packages_of(name, &[]);
        assert!(packages.len() > 10, "{name} has dependencies");
        let other = |package: &&String| {
            package.starts_with("azure_") || NEEDS_MORE_THAN_RUST.contains(&package.as_str())
        };
        let others: Vec<_> = packages.iter().filter(other).collect();
        assert!(others.is_empty(), "{name} needs {others:?}");
    }
}

#[test]
fn the_store_on_azure_cosmos_db_needs_no_engine() {
    let features = ["--no-default-features", "--features", "cosmos"];
    let packages = packages_of("onehop-store", &features);
    assert!(packages.iter().any(|package| package == "azure_data_cosmos"));
    assert!(!packages.iter().any(|package| package == "fjall"));
}
