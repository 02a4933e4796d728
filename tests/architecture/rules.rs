//! Dependency rules: which modules must not know which others. Dependencies run one way.

use crate::sources::{CrateSources, workspace};

/// Modules below the first path must not name modules below the second one.
const FORBIDDEN: &[(&str, &str)] = &[
    ("blog", "crate::graphql"),
    ("blog", "onehop_graphql_server"),
    ("domain", "crate::blog"),
    ("domain", "crate::webstore"),
    ("blog", "crate::webstore"),
    ("webstore", "crate::blog"),
    ("webstore", "crate::graphql"),
    ("webstore", "onehop_graphql_server"),
    ("domain", "crate::graphql"),
    ("domain", "onehop_graphql_server"),
    ("accounts", "crate::graphql"),
    ("accounts", "onehop_graphql_server"),
    ("telemetry", "crate::graphql"),
    ("served", "crate::blog"),
    ("served", "crate::webstore"),
    ("served", "crate::graphql"),
    ("served", "onehop_graphql_server"),
    ("domain", "crate::served"),
    ("accounts", "crate::served"),
    ("blog", "crate::served"),
    ("webstore", "crate::served"),
];

/// The modules that may name a store adapter: the composition root, its settings, and the commands that open
/// a store.
const ADAPTER_USERS: &[&str] = &[
    "app",
    "cli",
    "config",
    // The charge model, which is pure, and the sizes in the article's composition.
    "blog::study::article::composition",
    // Statistics of the embedded adapter, as values.
    "telemetry::metrics",
    "operations::outcomes",
];

/// The store's names that GraphQL may know: values, such as stored items and request charges.
const STORE_VALUES: &[&str] = &[
    "ContainerName",
    "Fault",
    "FaultKind",
    "FoldedOperation",
    "Item",
    "Keyset",
    "Ledger",
    "QueryPage",
    "WriteMark",
    "RequestCharge",
];

fn is_below(module: &str, prefix: &str) -> bool {
    module == prefix || module.strip_prefix(prefix).is_some_and(|rest| rest.starts_with("::"))
}

fn program() -> CrateSources {
    workspace().into_iter().find(|sources| sources.name == "onehop").expect("the root package")
}

/// Each import of the program, as a module and an absolute path.
fn imports(sources: &CrateSources) -> Vec<(String, String)> {
    let mut imports = Vec::new();
    for module in sources.modules.keys() {
        for path in sources.imports(module) {
            let absolute = match sources.resolve(module, &path) {
                Some(inner) => {
                    let inner = inner.join("::");
                    format!("crate::{inner}::{}", path.last().map_or("", String::as_str))
                }
                None => path.join("::"),
            };
            imports.push((module.join("::"), absolute));
        }
    }
    imports
}

#[test]
fn modules_import_only_what_they_may_know() {
    let sources = program();
    let refused: Vec<_> = imports(&sources)
        .into_iter()
        .filter(|(module, path)| {
            FORBIDDEN.iter().any(|(from, to)| is_below(module, from) && is_below(path, to))
        })
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn only_the_composition_root_names_an_adapter() {
    let sources = program();
    let names_adapter = |text: &str| {
        ["onehop_store::embedded", "onehop_store::cosmos", "store::{embedded", "store::{cosmos"]
            .iter()
            .any(|adapter| text.contains(adapter))
    };
    let refused: Vec<_> = sources
        .modules
        .iter()
        .filter(|(_, text)| names_adapter(text))
        .map(|(module, _)| module.join("::"))
        .filter(|module| !module.ends_with("::tests"))
        .filter(|module| !ADAPTER_USERS.iter().any(|user| is_below(module, user)))
        .collect();
    assert!(refused.is_empty(), "{refused:?}");
}

#[test]
fn graphql_knows_only_values_of_the_store() {
    let sources = program();
    let refused: Vec<_> = imports(&sources)
        .into_iter()
        .filter(|(module, path)| is_below(module, "graphql") && is_below(path, "onehop_store"))
        .filter(|(_, path)| !STORE_VALUES.iter().any(|value| path == &format!("onehop_store::{value}")))
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
}
