//! The queries behind the lists, each one operation on the store. They follow from the lists of a model.

use onehop_model::{FieldKind, Model, QueryKind, RelatedField, RelatedSource};

use super::views::{PostView, live};
use super::{Page, PageRequest, Session};
use crate::blog::containers::POSTS;
use crate::blog::items::types;
use onehop_store::{ContainerName, Direction, Fault, Item, Keyset, PartitionKey, Query, QueryPage, Store};

/// The query of a list.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListQuery {
    container: ContainerName,
    item_type: &'static str,
    direction: Direction,
    scope: ListScope,
}

/// Where the items of a list lie.
#[derive(Debug, Clone, Copy)]
enum ListScope {
    /// In the logical partition of their owner.
    Owner,
    /// In one logical partition.
    Partition(&'static str),
    /// Wherever this property is the owner's id, across all partitions.
    Equal(&'static str),
    /// Across all partitions.
    All,
}

impl ListQuery {
    /// The query of a list of a type, or of `Query`.
    ///
    /// # Panics
    /// The model has no such list, or one of another kind, which a test finds.
    pub(super) fn of(model: &'static Model, owner: &str, list: &str) -> Self {
        let found = if owner == "Query" {
            let query = model.queries().iter().find(|query| &*query.name == list);
            query.and_then(|query| match &query.kind {
                QueryKind::Related(related) => Some(related),
                _ => None,
            })
        } else {
            let field = model.item(owner).and_then(|item| item.field(list));
            field.and_then(|field| match &field.kind {
                FieldKind::Related(related) => Some(related),
                _ => None,
            })
        };
        let query = found.and_then(|related| Self::of_related(model, related));
        query.unwrap_or_else(|| panic!("the blog's model has no list {owner}.{list}"))
    }

    fn of_related(model: &'static Model, related: &'static RelatedField) -> Option<Self> {
        let item = model.item(&related.item_type)?;
        let (container, item_type, scope) = match &related.source {
            RelatedSource::Partition { .. } => (&item.container, &item.type_value, ListScope::Owner),
            RelatedSource::Find { by: None, through: None } => {
                (&item.container, &item.type_value, ListScope::All)
            }
            RelatedSource::Find { by: Some(by), through: None } => {
                let property = item.field(by)?.property()?.last();
                (&item.container, &item.type_value, ListScope::Equal(property))
            }
            RelatedSource::List(list) if list.by.is_empty() => {
                (&list.container, &list.entry_type, ListScope::Partition(&list.entry_type))
            }
            RelatedSource::List(list) => (&list.container, &list.entry_type, ListScope::Owner),
            RelatedSource::Find { through: Some(_), .. } => return None,
        };
        let is_newest_first = related.order.first().is_some_and(|order| order.descending);
        Some(Self {
            container: ContainerName(container),
            item_type,
            direction: if is_newest_first { Direction::NewestFirst } else { Direction::OldestFirst },
            scope,
        })
    }

    /// A page of the list of an owner.
    pub(super) async fn page<T>(
        self,
        store: &dyn Store,
        owner: &str,
        page: &PageRequest,
        decode: impl Fn(&Item) -> Result<Option<T>, Fault>,
        session: &Session,
    ) -> Result<Page<T>, Fault> {
        let Self { container, item_type, direction, scope } = self;
        let (after, limit) = (page.after(), page.first());
        let partition_key = match scope {
            ListScope::Partition(key) => PartitionKey::from(key),
            ListScope::Owner | ListScope::Equal(_) | ListScope::All => PartitionKey::from(owner),
        };
        let query = match scope {
            ListScope::Owner | ListScope::Partition(_) => Query::Partition {
                container,
                partition_key: &partition_key,
                item_type,
                direction,
                after,
                limit,
                order_by: None,
            },
            ListScope::Equal(path) => Query::Equality {
                container,
                path,
                value: owner,
                item_type,
                direction,
                after,
                limit,
                order_by: None,
            },
            ListScope::All => Query::Newest { container, item_type, direction, after, limit, order_by: None },
        };
        Page::decode(&store.query(&query, session.ledger()).await?, live(decode))
    }
}

/// At most `limit` posts of all users after a position, newest first, by a fan-out over `posts`.
pub(super) async fn newest_from(
    store: &dyn Store,
    after: Option<&Keyset>,
    limit: usize,
    session: &Session,
) -> Result<Page<PostView>, Fault> {
    let query = Query::Newest {
        container: POSTS,
        item_type: types::POST,
        after,
        limit,
        order_by: None,
        direction: Direction::NewestFirst,
    };
    let found: QueryPage = store.query(&query, session.ledger()).await?;
    Page::decode(&found, live(PostView::decode))
}
