//! A change feed processor: it keeps read models current from the change feeds of a [`onehop_store::Store`], in one
//! process or in many.
//!
//! A [`Projection`] is a pure function from a change, and the answers to what it asked to read, to intended writes.
//! The [`Processor`] does everything else: it shares the feed ranges of each projection's container with the other
//! instances by leases, and reads each of its own in order; reads and writes for the projection; tries again what
//! may succeed; parks what cannot, as dead letters; and writes a checkpoint after the writes that it stands for. It
//! knows no domain, and of the store no more than the port.
//!
//! # Use
//!
//! ```ignore
//! let settings = Settings { sharing: Sharing::with_others(), ..Settings::new("instance-7") };
//! let processor = Processor::open(store, clock, projections, settings, stop).await?;
//! // One task for each lease that this instance comes to hold; the caller says how tasks are started.
//! processor.run(|name, reader| tasks.spawn(name, reader)).await;
//! ```
//!
//! Everything that `run` does can be done by hand: [`Processor::tick`] looks at the leases, [`Processor::run_once`]
//! works on a page of each, [`Processor::renew`] extends them, [`Processor::drain`] goes on until nothing waits,
//! here or elsewhere. Time is the clock that was handed in.
//!
//! # What is promised
//!
//! - *At least once, in order within a logical partition.* A page's changes are projected or parked before its
//!   checkpoint is written, so a process that dies at any point loses nothing and repeats at most a page. Different
//!   logical partitions are worked on at the same time.
//! - *The latest version.* Like the feed itself, the processor may skip versions of an item, never the last one.
//! - *One owner.* A feed range is read under a lease, one item of [`LEASES`]: owner, epoch, checkpoint, expiry. Each write
//!   of it carries the ETag of the one before, so an owner that lost its lease writes no checkpoint, and stops at the
//!   next step of the page in hand. What it wrote to read models late does no harm where projections compare versions.
//! - *A balance.* Leases of instances that died are taken over within their expiry, a newcomer takes one lease at each
//!   tick from whoever has the most, and no two instances differ by more than one lease in the end.
//! - *Splits lose nothing.* A range that was split goes on in its parts where it stood: checkpoint, the leases of the
//!   parts, and then the end of its own. Who dies in between is finished by the next owner. Until then the parts wait,
//!   so that their order is kept. Ranges that were merged are read on as they were.
//! - *A poisoned change stops its logical partition and nothing else.* It is parked with its error, later changes of
//!   its logical partition are parked behind it, also after a restart or under another owner, and a replay brings
//!   them back.
//! - *Memos are not older than the page in hand*, where other instances write as well.
//!
//! # What is not
//!
//! - Hard deletes are in no change feed: a source that deletes does so softly first.
//! - Clocks are compared: between instances they may differ by less than the expiry less the renewal. If they differ by
//!   more, leases change hands for nothing; nothing is lost.
//! - A reader that is cut off from the lease container works on until its next lease write.
//! - Ranges that are merged and then split along another line are read by new leases from the beginning, beside the old.
//! - What an instance reads is as new as the store's consistency makes it.
//!
//! # Reading order
//!
//! `projection` and `request` are what a projection sees; `page` and `runner` how a change is worked on. `reader` is
//! who reads a range, under a `lease`, which is in the `hold` of this process. `tick` is how leases come and go: `coverage`
//! says which there have to be and `balance` whose they are, both pure. `follow` are the tasks; `processor`, `status`,
//! `position`, `rebuild` and `parked` what can be asked from outside. `tail` stands beside all that: a reader without leases, for a
//! process that only wants to hear what is written.

mod balance;
mod containers;
mod coverage;
mod dead_letters;
mod follow;
mod held;
mod hold;
mod host;
mod instance;
mod lease;
mod memo;
mod notes;
mod page;
mod parked;
mod position;
mod processor;
mod projection;
mod range_feed;
mod reader;
mod rebuild;
mod request;
mod runner;
mod settings;
mod shared;
mod status;
mod tail;
mod tick;

pub use containers::{DEAD_LETTERS, LEASES, SPECS};
pub use dead_letters::{DeadLetterItem, PARKED_ITEMS_MAX, ParkedItem};
pub use lease::{LeaseItem, SavedNote};
pub use parked::{DEAD_LETTERS_LISTED_MAX, DeadLetterList, DeadLetterSummary};
pub use position::{InvalidPosition, Position, PositionError, Reach, Written};
pub use processor::{Processor, ProcessorError};
pub use projection::{IntendedWrite, Projection, ProjectionError, Step, Turn};
pub use rebuild::{RebuildProgress, RebuildReport, ReplayReport};
pub use request::{Answer, ReadRequest};
pub use runner::PageError;
pub use settings::{Backoff, Settings, Sharing};
pub use status::{Following, LeaseStatus, PENDING_COUNT_MAX, ProjectionStatus, Standing};
pub use tail::{Tail, TailSettings, TailSource};
