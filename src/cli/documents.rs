//! `onehop documents`: prints the GraphQL documents of the web pages, for the document allowlist.

use clap::Args;

use super::Exit;

/// The output of `npm run generate`, from the documents of the pages that are in this binary.
const DOCUMENTS: &str = include_str!("../../web/trusted-documents.json");

/// Arguments of `onehop documents`.
#[derive(Debug, Args)]
pub struct Documents {}

impl Documents {
    pub fn run(self) -> anyhow::Result<Exit> {
        let Self {} = self;
        print!("{DOCUMENTS}");
        Ok(Exit::Success)
    }
}
