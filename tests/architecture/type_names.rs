//! Type names: a public type name stands for one thing within a crate.

use std::collections::BTreeMap;

use crate::sources::workspace;

/// Names that are idiomatic in several modules.
const IDIOMATIC: [&str; 2] = ["Error", "Settings"];

/// Names that still occur twice, by crate. Remove an entry when its types are renamed.
const ALLOWED: &[(&str, &[&str])] = &[("onehop", &["DataModel"])];

const KEYWORDS: [&str; 4] = ["struct", "enum", "trait", "type"];

/// The name of a type that a line declares as `pub`.
fn public_type(line: &str) -> Option<&str> {
    let (keyword, rest) = line.trim_start().strip_prefix("pub ")?.split_once(' ')?;
    let end = rest.find(|character: char| !character.is_alphanumeric() && character != '_')?;
    KEYWORDS.contains(&keyword).then_some(&rest[..end])
}

#[test]
fn a_public_type_name_stands_for_one_thing_in_a_crate() {
    let mut repeated = Vec::new();
    for sources in workspace() {
        let allowed =
            ALLOWED.iter().find(|(name, _)| *name == sources.name).map_or(&[][..], |(_, names)| names);
        let mut modules_of: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (module, text) in &sources.modules {
            for name in text.lines().filter_map(public_type) {
                modules_of.entry(name).or_default().push(module.join("::"));
            }
        }
        for (name, modules) in modules_of {
            if modules.len() > 1 && !IDIOMATIC.contains(&name) && !allowed.contains(&name) {
                repeated.push(format!("{}: {name} in {}", sources.name, modules.join(", ")));
            }
        }
    }
    assert!(repeated.is_empty(), "{repeated:#?}");
}
