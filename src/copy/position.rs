//! Copy checkpoint: how far a feed range of the source was copied, as an item in the target's `leases`
//! container. The change feed processor reads leases by their ids and does not see it.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use onehop_change_feed::LEASES;
use onehop_store::{
    ContainerName, Continuation, Fault, FeedRange, Ledger, NewItem, PartitionKey, Store, WriteError, WriteOp,
};

/// The `type` of a position.
pub const POSITION_TYPE: &str = "copyPosition";
/// Names ids of positions: a UUIDv5 namespace of this program's own.
const NAMESPACE: Uuid = Uuid::from_u128(0x6d0c_2b3a_51f4_4c0e_9a5b_0f6e_1c7d_2a90);

/// A position, in its stored form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredPosition {
    pub id: String,
    #[serde(rename = "type")]
    pub item_type: String,
    pub source: String,
    pub container: String,
    pub range: FeedRange,
    /// `None` is the beginning.
    pub continuation: Option<Continuation>,
    /// Items copied so far.
    pub items: u64,
}

impl StoredPosition {
    /// The id of the position of a range of a source.
    #[must_use]
    pub fn id_of(source_name: &str, container: ContainerName, range: &FeedRange) -> String {
        let name = serde_json::json!([source_name, range]).to_string();
        format!("copy~{container}~{}", Uuid::new_v5(&NAMESPACE, name.as_bytes()).simple())
    }

    /// The beginning of a range.
    #[must_use]
    pub fn first(id: String, source_name: &str, container: ContainerName, range: &FeedRange) -> Self {
        Self {
            id,
            item_type: POSITION_TYPE.to_owned(),
            source: source_name.to_owned(),
            container: container.to_string(),
            range: range.clone(),
            continuation: None,
            items: 0,
        }
    }

    pub(super) async fn read(store: &dyn Store, id: &str) -> Result<Option<Self>, Fault> {
        let found = store.read(LEASES, &PartitionKey::from(id), id, &Ledger::new()).await?;
        found.map(|item| item.decode()).transpose()
    }

    pub(super) async fn save(&self, store: &dyn Store) -> Result<(), WriteError> {
        let item = NewItem::encode(self.id.clone(), self);
        let key = PartitionKey::from(self.id.as_str());
        store.write(LEASES, &key, WriteOp::Upsert(item), &Ledger::new()).await.map(drop)
    }
}
