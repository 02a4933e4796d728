//! Import cycles: no two modules of a crate import each other, directly or through others.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::{CrateSources, ModulePath, workspace};

/// Cycles that are there: the crate, the module above all modules of the cycle, and its size. An entry only
/// gets smaller.
const ALLOWED: &[(&str, &str, usize)] = &[
    // GraphQL types refer to each other as the schema does.
    ("onehop", "graphql", 10),
    // A module and its parts, which use types of their parent.
    ("onehop", "blog::renames", 3),
];

type Graph<'a> = BTreeMap<&'a ModulePath, BTreeSet<ModulePath>>;

fn graph(sources: &CrateSources) -> Graph<'_> {
    let imported = |module: &ModulePath| {
        let paths = sources.imports(module);
        let modules = paths.iter().filter_map(|path| sources.resolve(module, path));
        modules.filter(|imported| imported != module).collect()
    };
    sources.modules.keys().map(|module| (module, imported(module))).collect()
}

fn reachable<'a>(graph: &'a Graph<'_>, from: &'a ModulePath) -> BTreeSet<&'a ModulePath> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        for next in graph.get(module).into_iter().flatten() {
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    seen
}

/// The strongly connected components with more than one module.
fn cycles(sources: &CrateSources) -> Vec<Vec<String>> {
    let graph = graph(sources);
    let reach: BTreeMap<_, _> = graph.keys().map(|module| (*module, reachable(&graph, module))).collect();
    let mut cycles = BTreeSet::new();
    for (module, reached) in &reach {
        let mutual =
            reached.iter().filter(|other| reach.get(**other).is_some_and(|back| back.contains(*module)));
        let component: BTreeSet<_> = mutual.map(|other| other.join("::")).collect();
        if component.len() > 1 {
            cycles.insert(component.into_iter().collect());
        }
    }
    cycles.into_iter().collect()
}

#[test]
fn modules_do_not_import_each_other_in_a_cycle() {
    let mut refused = Vec::new();
    for sources in workspace() {
        for cycle in cycles(&sources) {
            let is_allowed = ALLOWED.iter().any(|(name, prefix, largest)| {
                let is_below = |module: &String| {
                    prefix.is_empty() || module == prefix || module.starts_with(&format!("{prefix}::"))
                };
                *name == sources.name && cycle.len() <= *largest && cycle.iter().all(is_below)
            });
            if !is_allowed {
                refused.push(format!("{} ({}): {}", sources.name, cycle.len(), cycle.join(", ")));
            }
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}
