//! `onehop copy`, the program.

use std::path::Path;
use std::process::{Command, Output};

fn onehop(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onehop"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("ONEHOP_")) {
        command.env_remove(name);
    }
    command.args(arguments).output().unwrap()
}

fn copy(from: &str, to: &str) -> (i32, String) {
    let output = onehop(&["copy", "--durability=relaxed", "--from", from, "--to", to]);
    let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.code().unwrap(), printed)
}

fn embedded(directory: &Path) -> String {
    format!("embedded:{}", directory.display())
}

#[test]
fn a_directory_is_copied_and_verified_by_one_command() {
    let parent = tempfile::tempdir().unwrap();
    let (source, target) = (parent.path().join("source"), parent.path().join("target"));
    let seeded = onehop(&["seed", "--users=2", "--durability=relaxed", "--data", source.to_str().unwrap()]);
    assert!(seeded.status.success());
    let (status, printed) = copy(&embedded(&source), &embedded(&target));
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains(" items copied, 0 before") && printed.contains("clean"), "{printed}");
    let (status, printed) = copy(&embedded(&source), &embedded(&target));
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains("0 items copied, ") && !printed.contains(", 0 before"), "{printed}");

    let other = parent.path().join("other");
    assert!(onehop(&["seed", "--users=1", "--data", other.to_str().unwrap()]).status.success());
    let (status, printed) = copy(&embedded(&other), &embedded(&target));
    assert_eq!(status, 2, "{printed}");
    assert!(printed.contains("copy into an empty one"), "{printed}");
}

#[test]
fn invalid_copy_endpoints_are_refused_by_flag_name() {
    let parent = tempfile::tempdir().unwrap();
    let here = parent.path().join("here");
    assert!(onehop(&["seed", "--users=1", "--data", here.to_str().unwrap()]).status.success());
    let missing = parent.path().join("missing");
    let fresh = parent.path().join("fresh");
    for (from, to, named) in [
        (&*embedded(&here), &*embedded(&here), "--from and --to are the same"),
        ("cosmos", "cosmos", "--from and --to are the same"),
        (&*embedded(&missing), &*embedded(&fresh), "there is no such directory"),
        ("somewhere", &*embedded(&fresh), "--from"),
        (&*embedded(&here), "embedded:", "--to"),
        (&*embedded(&here), "cosmos", "--cosmos-endpoint is needed"),
    ] {
        let (status, printed) = copy(from, to);
        assert_eq!(status, 2, "{from} {to}: {printed}");
        assert!(printed.contains(named), "{from} {to}: {printed}");
        assert!(!missing.exists() && !fresh.exists(), "{from} {to}: nothing is made");
    }
}

/// The model that `onehop new` writes.
fn new_model(parent: &Path) -> String {
    let made = onehop(&["new", "club", "--directory", parent.to_str().unwrap()]);
    assert!(made.status.success());
    parent.join("club.graphql").to_str().unwrap().to_owned()
}

#[test]
fn the_data_of_a_model_are_seeded_copied_and_verified() {
    let parent = tempfile::tempdir().unwrap();
    let model = new_model(parent.path());
    let (source, target) = (parent.path().join("source"), parent.path().join("target"));
    let data = source.to_str().unwrap();
    let seed = ["seed", "--model", &model, "--items=20", "--durability=relaxed", "--data", data];
    let seeded = onehop(&seed);
    let printed = String::from_utf8([seeded.stdout, seeded.stderr].concat()).unwrap();
    assert!(
        seeded.status.success() && printed.contains("Member: 20 created, 0 existed, 0 rejected"),
        "{printed}"
    );
    assert!(printed.contains("new accounts sign in as "), "{printed}");
    let again = String::from_utf8(onehop(&seed).stdout).unwrap();
    assert!(again.contains("Member: 0 created, 20 existed, 0 rejected"), "{again}");
    assert!(!again.contains("sign in"), "a password that nobody has: {again}");

    let copy_model = || {
        let (from, to) = (embedded(&source), embedded(&target));
        let copied =
            onehop(&["copy", "--model", &model, "--durability=relaxed", "--from", &from, "--to", &to]);
        let printed = String::from_utf8([copied.stdout, copied.stderr].concat()).unwrap();
        (copied.status.code().unwrap(), printed)
    };
    let (status, printed) = copy_model();
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains(" items copied, 0 before") && printed.contains("clean"), "{printed}");
    let (status, printed) = copy_model();
    assert!(status == 0 && printed.contains("0 items copied, "), "{printed}");

    let (status, printed) = copy(&embedded(&source), &embedded(&parent.path().join("other")));
    assert!(status == 2 && printed.contains("the data of the model `club`"), "{printed}");
    std::fs::write(
        &model,
        std::fs::read_to_string(&model).unwrap().replacen("name: String!", "name: String", 1),
    )
    .unwrap();
    let (status, printed) = copy_model();
    assert_eq!(status, 2, "another version of the model: {printed}");
    assert!(printed.contains("--from"), "{printed}");
}
