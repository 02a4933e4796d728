//! Diagram: the rules of a declaration as a Mermaid flowchart, for the documentation.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use onehop_store::ContainerName;

use crate::declaration::ReadModels;
use crate::item_type::ItemType;
use crate::rule::{CopyMode, CopyRule, CountRule, Keep, ListPartition, ListRule, OwnsRule, Rule};

/// Nodes and edges of a flowchart.
#[derive(Default)]
struct Flowchart {
    /// The labels of the nodes of each container, by the node's name.
    nodes: BTreeMap<ContainerName, BTreeMap<String, String>>,
    edges: Vec<String>,
}

impl ReadModels {
    /// The rules as a [Mermaid](https://mermaid.js.org) flowchart: containers with their types of items, and
    /// an arrow for each rule.
    #[must_use]
    pub fn mermaid(&self) -> String {
        let mut chart = Flowchart::default();
        for rule in self.rules() {
            match rule {
                Rule::Copy(copy) => chart.copy(copy),
                Rule::List(list) => chart.list(list),
                Rule::Count(count) => chart.count(count),
                Rule::Owns(owns) => chart.owns(owns),
            }
        }
        let mut text = String::from("flowchart LR\n");
        for (container, nodes) in &chart.nodes {
            let key = self.container(*container).map_or("", |spec| spec.partition_key);
            let _ = writeln!(text, "    subgraph {container}[\"{container} /{key}\"]");
            for (name, label) in nodes {
                let _ = writeln!(text, "        {name}[\"{label}\"]");
            }
            text.push_str("    end\n");
        }
        for edge in &chart.edges {
            let _ = writeln!(text, "    {edge}");
        }
        text
    }
}

impl Flowchart {
    fn item(&mut self, item_type: &ItemType) -> String {
        self.node(item_type.container, item_type.name, item_type.name)
    }

    fn node(&mut self, container: ContainerName, name: &str, label: &str) -> String {
        let name = format!("{container}_{name}").replace('-', "_");
        self.nodes.entry(container).or_default().insert(name.clone(), label.to_owned());
        name
    }

    fn copy(&mut self, rule: &CopyRule) {
        let source = self.item(&rule.source);
        let arrow = if rule.mode == CopyMode::Frozen { "-.->" } else { "-->" };
        let frozen = if rule.mode == CopyMode::Frozen { ", frozen" } else { "" };
        for target in &rule.targets {
            let node = self.item(&target.item_type);
            let by = if target.by.is_empty() { String::new() } else { format!(" by {}", target.by) };
            let label = format!("copy {} into {}{by}{frozen}", rule.field, target.field);
            self.edges.push(format!("{source} {arrow}|\"{label}\"| {node}"));
        }
    }

    fn list(&mut self, rule: &ListRule) {
        let source = self.item(&rule.source);
        let entry = format!("{}_entry", rule.source.name);
        let node = self.node(rule.container, &entry, &format!("short copies of {}", rule.source.name));
        let which = match (rule.partition, rule.keep) {
            (ListPartition::Field(field), _) => format!("all, by {field}"),
            (ListPartition::Element(path), _) => format!("one for each element, by {path}"),
            (ListPartition::Constant(_), Keep::Newest(items)) => format!("the newest {items}"),
            (ListPartition::Constant(_), Keep::Highest(items)) => format!("the {items} highest"),
            (ListPartition::Constant(_), Keep::All) => "all".to_owned(),
        };
        self.edges.push(format!("{source} -->|\"list {}: {which}\"| {node}", rule.name));
    }

    fn count(&mut self, rule: &CountRule) {
        let (counted, parent) = (self.item(&rule.counted), self.item(&rule.parent));
        let text = rule.text.map_or(String::new(), |text| format!(" and {}", text.field));
        self.edges
            .push(format!("{counted} -->|\"count into {}{text} by {}\"| {parent}", rule.field, rule.by));
    }

    fn owns(&mut self, rule: &OwnsRule) {
        let owner = self.item(&rule.owner);
        for owned in &rule.owned {
            let node = self.item(&owned.item_type);
            self.edges.push(format!("{owner} -->|\"owns\"| {node}"));
        }
    }
}
