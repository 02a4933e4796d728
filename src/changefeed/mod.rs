//! A change feed processor: it keeps read models current from the change feeds of a [`crate::store::Store`].
//!
//! A [`Projection`] is a pure function from a change, and the answers to what it asked to read, to intended writes.
//! The [`Processor`] does everything else: it reads the change feed of each projection's container, one reader
//! for each feed range; reads and writes for the projection; tries again what may succeed; parks what cannot, as
//! dead letters; and writes a checkpoint after the writes that it stands for. It knows no domain, and of the
//! store no more than the port.
//!
//! # What is promised
//!
//! - *At least once, in order within a logical partition.* A page's changes are projected or parked before its
//!   checkpoint is written, so a process that dies at any point loses nothing and repeats at most a page. Different
//!   logical partitions are worked on at the same time.
//! - *The latest version.* Like the feed itself, the processor may skip versions of an item, never the last one.
//! - *One owner.* A feed range is read under a lease. Each checkpoint carries the lease's ETag, so an owner that lost
//!   its lease writes none; what it wrote to read models late does no harm where projections compare versions.
//! - *A poisoned change stops its logical partition and nothing else.* It is parked with its error, later changes of
//!   its logical partition are parked behind it, also after a restart, and a replay brings them back.
//!
//! # What is not
//!
//! Hard deletes are in no change feed: a source that deletes does so softly first. Feed ranges are looked up when
//! the processor is opened; a partition split is followed at the next start. Memos know the writes of this
//! process only.
//!
//! # Reading order
//!
//! `projection` and `request` are what a projection sees; `page` and `runner` how a change is worked on; `reader`
//! and `lease` who reads and how far it came; `processor` and `rebuild` what can be asked from outside.

mod containers;
mod dead_letters;
mod host;
mod lease;
mod memo;
mod notes;
mod page;
mod processor;
mod projection;
mod reader;
mod rebuild;
mod request;
mod runner;
mod settings;
mod shared;
mod status;

pub use containers::{DEAD_LETTERS, LEASES, SPECS};
pub use dead_letters::{DeadLetterItem, PARKED_ITEMS_MAX, ParkedItem};
pub use lease::{LeaseItem, SavedNote};
pub use processor::{Processor, ProcessorError};
pub use projection::{IntendedWrite, Projection, ProjectionError, Step, Turn};
pub use reader::Reader;
pub use rebuild::{RebuildProgress, ReplayReport};
pub use request::{Answer, ReadRequest};
pub use runner::PageError;
pub use settings::{Backoff, Settings, Sharing};
pub use status::{PENDING_COUNT_MAX, ProjectionStatus};
