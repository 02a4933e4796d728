//! How recent what is read is: positions for those who want to read what they wrote, and marks for those who want to
//! know whether an answer is still the same.

use async_trait::async_trait;

use crate::http::graphql_service::InvalidPosition;
use crate::store::{ContainerName, Mark};

/// Who knows how far the read models are, and what was written.
#[async_trait]
pub trait Recency: Send + Sync + 'static {
    /// A position that the read models have reached when they hold all that was written to these containers until now;
    /// `None` where no read model depends on them, or it cannot be said.
    async fn position_after(&self, written: &[ContainerName]) -> Option<String>;

    /// Waits, up to a limit, until the read models have reached a position, and says whether they have.
    async fn reach(&self, position: &str) -> Result<bool, InvalidPosition>;

    /// The number of the last write that every read sees from now on; `None` where other processes write as well.
    fn last_write(&self) -> Option<u64>;

    /// Whether nothing of this was written after the write with this number.
    fn is_unwritten_since(&self, mark: Mark, write: u64) -> bool;
}
