//! Lost items: the report of a salvage about each item that is gone, or whose newest version is.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use onehop_runtime::private_files;
use serde::{Deserialize, Serialize};

use super::super::layout::sync_directory;

/// The file in the data directory with the lost items, a line of JSON for each.
pub(in super::super) const LOST_ITEMS_FILE: &str = "lost-items.jsonl";
const LOST_ITEMS_FILE_UNFINISHED: &str = "lost-items.jsonl.unfinished";

/// The fate of an item whose files are damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ItemFate {
    /// It was there, and its body cannot be read.
    Lost,
    /// Its newest version cannot be read, and an earlier one was kept.
    EarlierVersion,
    /// An index names it, and its body cannot be read. It may have been deleted before.
    PerhapsLost,
    /// It was kept. It may have been deleted or written again before.
    Unconfirmed,
}

/// An item that a salvage could not bring back as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LostItem {
    pub container: String,
    pub partition_key: String,
    pub id: String,
    pub fate: ItemFate,
    /// Its type, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_type: Option<String>,
    /// The number of the lost write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_write: Option<u64>,
    /// The number of the write that was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_write: Option<u64>,
}

/// The lost items of a salvage, by container, partition key and id.
#[derive(Debug, Default)]
pub(in super::super) struct LostItems(BTreeMap<(String, String, String), LostItem>);

impl LostItems {
    /// Notes an item. The later statement counts.
    pub(in super::super) fn note(&mut self, item: LostItem) {
        let key = (item.container.clone(), item.partition_key.clone(), item.id.clone());
        self.0.insert(key, item);
    }

    /// Whether there is a statement about an item.
    pub(in super::super) fn contains(&self, container: &str, partition_key: &str, id: &str) -> bool {
        self.0.contains_key(&(container.to_owned(), partition_key.to_owned(), id.to_owned()))
    }

    pub(in super::super) fn into_items(self) -> Vec<LostItem> {
        self.0.into_values().collect()
    }
}

/// Writes the lost items into a data directory, under another name first.
///
/// # Errors
/// The file cannot be written.
pub fn write_lost_items(data: &Path, items: &[LostItem]) -> io::Result<()> {
    let unfinished = data.join(LOST_ITEMS_FILE_UNFINISHED);
    let file = private_files::file_options().write(true).create(true).truncate(true).open(&unfinished)?;
    let mut writer = io::BufWriter::new(file);
    for item in items {
        serde_json::to_writer(&mut writer, item)?;
        writer.write_all(b"\n")?;
    }
    writer.into_inner()?.sync_all()?;
    std::fs::rename(&unfinished, data.join(LOST_ITEMS_FILE))?;
    sync_directory(data)
}

/// The lost items of the last salvage; `None` without a salvage.
///
/// # Errors
/// The file cannot be read.
pub fn read_lost_items(data: &Path) -> io::Result<Option<Vec<LostItem>>> {
    match std::fs::read_to_string(data.join(LOST_ITEMS_FILE)) {
        Ok(text) => {
            text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect::<io::Result<_>>().map(Some)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
