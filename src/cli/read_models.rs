//! `onehop read-models`: the declared read models as diagrams.

use onehop_read_models::ReadModels;

use crate::{blog, webstore};

/// A Mermaid flowchart for each domain, in Markdown.
#[must_use]
pub fn diagrams() -> String {
    let domains =
        [("Blog", blog::read_models::read_models()), ("Web store", webstore::read_models::read_models())];
    let diagram = |(title, declared): (&str, ReadModels)| {
        format!("## {title}\n\n```mermaid\n{}```\n", declared.mermaid())
    };
    domains.map(diagram).join("\n")
}
