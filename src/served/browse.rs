//! Browsing of stored items by the operator: the items of a type page by page along the change feed, one
//! item, and the entries of a list. Secrets are left out, and so are deleted items.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use onehop_model::{Field, FieldKind, Format, KeySource, QueryKind, RelatedField, Scalar, TypeOf};
use onehop_runtime::clock::format_timestamp;
use onehop_store::{
    Continuation, Fault, FaultKind, FeedRange, FeedRequest, Item, KEY_SEPARATOR, Ledger, PartitionKey,
    joined_key, key_text, key_value,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::cursor;
use super::ids::ItemPlace;
use super::model::{Body, ServedType, TypeIndex};
use super::pages::ListRange;
use super::reads::{ServedItem, ServedReads};
use super::redaction::redacted;
use super::related_fields::related;

/// Items of one read of the change feed.
const CHUNK_ITEMS: usize = 10;
/// Reads of the change feed for one page of items.
const CHUNKS_MAX: usize = 50;
/// Bytes of the items of a page, beyond which it ends early. A page has one item at least.
const PAGE_BYTES_MAX: usize = 1024 * 1024;
/// Characters of a position in the change feed.
const POSITION_CHARS_MAX: usize = 16 * 1024;

/// An item or an entry as its operator sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct BrowsedItem {
    /// The place of the item.
    pub place: ItemPlace,
    /// Its properties, without secrets.
    pub body: Body,
    /// The length of the stored JSON.
    pub bytes: usize,
    /// When it was last written, RFC 3339; `None` in a list.
    pub written_at: Option<String>,
}

/// A page of items or entries.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BrowsedPage {
    /// The items.
    pub items: Vec<BrowsedItem>,
    /// The position after which the next page begins; `None` on the last page.
    pub end: Option<String>,
}

/// Why nothing can be shown.
#[derive(Debug, Error)]
pub enum BrowseError {
    /// There is no such type, list or owner, or no such position. The text names the argument.
    #[error("{1}")]
    Argument(&'static str, &'static str),
    /// A fault of the store.
    #[error(transparent)]
    Store(#[from] Fault),
}

/// The list and the owner whose entries are shown.
#[derive(Debug, Clone, Copy)]
pub struct BrowsedList<'a> {
    /// The list, as `Type.field` or `Query.field`.
    pub list: &'a str,
    /// The partition key and the id of the owner; `None` for a list of `Query`.
    pub owner: Option<(&'a [String], &'a str)>,
}

/// The refusal of a position that was made up, or is of another store.
const NO_POSITION: BrowseError = BrowseError::Argument("after", "is no position of these items");

/// A position in the change feed of a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FeedPosition {
    range: FeedRange,
    continuation: Option<Continuation>,
}

impl BrowsedItem {
    fn of(place: ItemPlace, body: &Body, item: Option<&Item>) -> Self {
        let bytes = item
            .map_or_else(|| serde_json::to_vec(body).map_or(0, |text| text.len()), |item| item.body.len());
        let written_at = item.map(|item| format_timestamp(item.timestamp_ms));
        Self { place, body: redacted(body), bytes, written_at }
    }

    /// The values of the partition key, numbers and Booleans as JSON has them.
    pub fn partition_values(&self) -> impl Iterator<Item = String> {
        self.place.partition.as_str().split(KEY_SEPARATOR).map(|part| match key_value(part) {
            Value::String(text) => text,
            literal => literal.to_string(),
        })
    }
}

impl ServedReads {
    /// A page of the stored items of a type, in the order of their last writes within each physical
    /// partition. An item that is written meanwhile may come twice; none is missed.
    ///
    /// # Errors
    /// See [`BrowseError`].
    pub async fn browse_items(
        &self,
        ty: TypeIndex,
        (first, after): (usize, Option<&str>),
        ledger: &Ledger,
    ) -> Result<BrowsedPage, BrowseError> {
        let served = self.model.ty(ty);
        let types = [served.type_value];
        let mut ranges = self.store.feed_ranges(served.container).await?;
        ranges.sort_by(|one, other| (one.0.len(), &one.0).cmp(&(other.0.len(), &other.0)));
        let (mut number, mut continuation) = match after {
            None => (0, None),
            Some(after) => position_in(&ranges, after).ok_or(NO_POSITION)?,
        };
        let (mut page, mut bytes) = (BrowsedPage::default(), 0);
        for _ in 0..CHUNKS_MAX {
            let Some(range) = ranges.get(number) else { break };
            let limit = (first - page.items.len()).min(CHUNK_ITEMS);
            let request = FeedRequest {
                container: served.container,
                range,
                continuation: continuation.as_ref(),
                types: Some(&types),
                limit,
            };
            let read = self.store.read_change_feed(&request, ledger).await.map_err(position_or_fault)?;
            for change in read.changes {
                let place = ItemPlace { ty, partition: change.partition_key, id: change.id };
                if let Some(body) = self.present(ty, Some(change.item.clone()))? {
                    bytes += change.item.body.len();
                    page.items.push(BrowsedItem::of(place, &body, Some(&change.item)));
                }
            }
            (number, continuation) =
                if read.drained { (number + 1, None) } else { (number, Some(read.continuation)) };
            if page.items.len() >= first || bytes >= PAGE_BYTES_MAX {
                break;
            }
        }
        page.end =
            ranges.get(number).map(|range| FeedPosition { range: range.clone(), continuation }.encode());
        Ok(page)
    }

    /// An item by the values of its partition key and its id; `None` where it is absent or deleted.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn browse_item(
        &self,
        ty: TypeIndex,
        (partition_key, id): (&[String], &str),
        ledger: &Ledger,
    ) -> Result<Option<BrowsedItem>, BrowseError> {
        let place = self.place_by_values(ty, partition_key, id);
        let container = self.model.ty(ty).container;
        let found = self.store.read(container, &place.partition, &place.id, ledger).await?;
        let body = self.present(ty, found.clone())?;
        Ok(body.map(|body| BrowsedItem::of(place, &body, found.as_ref())))
    }

    /// A page of a list, as the API shows it.
    ///
    /// # Errors
    /// See [`BrowseError`].
    pub async fn browse_list(
        &self,
        of: BrowsedList<'_>,
        (first, after): (usize, Option<&str>),
        ledger: &Ledger,
    ) -> Result<BrowsedPage, BrowseError> {
        let unknown = || BrowseError::Argument("list", "is no list of the model, such as Type.field");
        let (owner_type, related) = self.list_named(of.list).ok_or_else(unknown)?;
        let listed = self.model.index_of(&related.item_type).ok_or_else(unknown)?;
        let place = self.model.list_place(owner_type, related).ok_or_else(unknown)?;
        let owner = match (owner_type, of.owner) {
            (None, _) => None,
            (Some(ty), Some((partition_key, id))) => {
                let place = self.place_by_values(ty, partition_key, id);
                let body = self.item(&place, ledger).await?;
                let body =
                    body.ok_or(BrowseError::Argument("id", "is the id of no item that has this list"))?;
                Some(ServedItem::whole(place, body))
            }
            (Some(_), None) => return Err(BrowseError::Argument("id", "the list has an owner: give its id")),
        };
        let name = match &owner {
            Some(owner) => format!("{} {}", of.list, owner.place.encode(&self.model)),
            None => of.list.to_owned(),
        };
        let after = after.map(|after| cursor::decode(&name, after)).transpose();
        let after = after.map_err(|_| BrowseError::Argument("after", "is no position of this list"))?;
        let range = ListRange::first(first, after.as_ref());
        let found = self.page(listed, &place, owner.as_ref(), range, ledger).await?;
        if found.is_too_long {
            return Err(BrowseError::Argument("list", "has more links than are looked at"));
        }
        let (mut page, mut bytes, mut last) = (BrowsedPage::default(), 0, None);
        let shown = found.items.len();
        for (item, position) in found.items.into_iter().zip(&found.positions) {
            let item = BrowsedItem::of(item.place, &item.body, None);
            bytes += item.bytes;
            page.items.push(item);
            last = Some(position);
            if bytes >= PAGE_BYTES_MAX {
                break;
            }
        }
        let end = match page.items.len() < shown {
            true => last,
            false => found.end.as_ref().or(last).filter(|_| found.has_next),
        };
        page.end = end.map(|position| cursor::encode(&name, position));
        Ok(page)
    }

    /// The place of an item by the values of its partition key as [`BrowsedItem::partition_values`] has them.
    fn place_by_values(&self, ty: TypeIndex, partition_key: &[String], id: &str) -> ItemPlace {
        let served = self.model.ty(ty);
        let values = partition_key.iter().enumerate().map(|(part, value)| {
            let is_literal = served.item.key.get(part).is_some_and(|source| is_literal(served, source));
            let literal = serde_json::from_str::<Value>(value).ok().filter(|_| is_literal);
            literal.as_ref().and_then(key_text).map_or_else(|| value.clone(), Cow::into_owned)
        });
        let values: Vec<String> = values.collect();
        let partition = PartitionKey::new(joined_key(values.iter().map(String::as_str)));
        ItemPlace { ty, partition, id: id.to_owned() }
    }

    /// A list of an item type, or of `Query`, with the type of its owner.
    fn list_named(&self, name: &str) -> Option<(Option<TypeIndex>, &RelatedField)> {
        let (owner, field) = name.split_once('.')?;
        match self.model.index_of(owner) {
            Some(ty) => {
                let field: &Field = self.model.ty(ty).item.field(field)?;
                Some((Some(ty), related(field)?))
            }
            None if owner == "Query" => {
                let query = self.model.model().queries().iter().find(|query| *query.name == *field)?;
                match &query.kind {
                    QueryKind::Related(related) if related.arguments().is_empty() => Some((None, related)),
                    _ => None,
                }
            }
            None => None,
        }
    }
}

impl FeedPosition {
    fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    fn decode(text: &str) -> Option<Self> {
        let is_short = text.len() <= POSITION_CHARS_MAX;
        let bytes = is_short.then(|| URL_SAFE_NO_PAD.decode(text).ok()).flatten()?;
        serde_json::from_slice(&bytes).ok()
    }
}

/// The number of the range in which a page begins, and where.
fn position_in(ranges: &[FeedRange], after: &str) -> Option<(usize, Option<Continuation>)> {
    let FeedPosition { range, continuation } = FeedPosition::decode(after)?;
    Some((ranges.iter().position(|known| *known == range)?, continuation))
}

fn position_or_fault(fault: Fault) -> BrowseError {
    if fault.kind == FaultKind::InvalidContinuation { NO_POSITION } else { BrowseError::Store(fault) }
}

/// Whether a part of a partition key is a number or a Boolean.
fn is_literal(ty: &ServedType, source: &KeySource) -> bool {
    let KeySource::Field(name) = source else { return false };
    let Some(field) = ty.item.field(name) else { return false };
    let FieldKind::Stored(stored) = &field.kind else { return false };
    match field.ty.of {
        TypeOf::Scalar(Scalar::Int | Scalar::Float | Scalar::Boolean) => true,
        _ => stored.format != Format::Iso,
    }
}
