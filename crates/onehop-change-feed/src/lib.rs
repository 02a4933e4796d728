#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! `projection` and `request` define a projection, `handler` one with an `effect`; `page` and `runner`
//! process changes with it; `page_cache` and `read_cache` save reads, `recent_changes` leaves out changes
//! without effect on a projection. `source` gives a page to all projections of a container. `reader` reads
//! one feed range under a `lease`, which `lease_handle` shares with the changes of a page. `heartbeat` is
//! the liveness of this instance, `observations` the liveness of the others; `membership` brings both
//! together. `backfill` serves projections that are behind the checkpoint of a lease, from positions of
//! their own. `load_balancer` acquires leases: `coverage` decides which leases exist and `balancing_strategy`
//! who owns them, both pure. `supervisor` runs the background tasks, and `poll_schedule` decides when a
//! reader looks again. `idle` computes the charge at rest. `processor`, `status` (the estimator), `position`
//! with `position_wait` and `joined_position`, `rebuild` and `dead_letter_list` are the public interface.
//! `tail` is independent of the processor: a reader without leases, which a later process opens again at a
//! `tail_position`. `created_tail` reports created items, by the memory of `creations`; `cause` names the
//! writer of a version.

#![warn(missing_docs)]

mod backfill;
mod backfills;
mod balancing_strategy;
mod cause;
mod change_checkpoints;
mod containers;
mod context;
mod counters;
mod coverage;
mod created_tail;
mod creations;
mod dead_letter_list;
mod dead_letters;
mod effect;
mod estimator;
mod expiring_body;
mod feed_place;
mod former_letters;
mod handler;
mod heartbeat;
mod idle;
mod instance;
mod joined_position;
mod lease;
mod lease_handle;
mod lease_scope;
mod letter_bodies;
mod load_balancer;
mod looks;
mod membership;
mod notifications;
mod observations;
mod owned_leases;
mod page;
mod page_cache;
mod page_error;
mod pass;
mod poison;
mod poll_schedule;
mod position;
mod position_wait;
mod processor;
mod projection;
mod range_feed;
mod read_cache;
mod read_progress;
mod reader;
mod rebuild;
mod rebuild_position;
mod recent_changes;
mod refusals;
mod request;
mod runner;
mod settings;
mod source;
mod stalls;
mod status;
mod supervisor;
mod tail;
mod tail_position;
mod turn;
mod write_watches;

pub use cause::Cause;
pub use containers::{DEAD_LETTERS, LEASES, SPECS};
pub use created_tail::{CreatedTail, CreatedTailSettings, CreationTime};
pub use creations::{Creations, SeenVersion};
pub use dead_letter_list::{DEAD_LETTERS_LISTED_MAX, DeadLetterList, DeadLetterSummary};
pub use dead_letters::{DEAD_LETTER_ENTRIES_MAX, DeadLetterEntry, DeadLetterItem};
pub use effect::HandlerError;
pub use estimator::{Estimator, LeaseEstimate};
pub use feed_place::{Backfill, FeedPlace};
pub use handler::{Handler, HandlerCall, handler};
pub use idle::IdleCharges;
pub use lease::{ChangeCheckpoint, LeaseItem};
pub use notifications::{LeaseEvent, Notification, Notifications};
pub use page_error::{PageError, StallCause};
pub use poison::DeadLetterCause;
pub use position::{InvalidPosition, Position, PositionError, PositionOutcome, WriteScope};
pub use processor::{Processor, ProcessorError};
pub use projection::{
    CacheUpdate, IntendedWrite, Projection, ProjectionError, Step, StepInput, WakingFields,
};
pub use read_progress::ReadProgress;
pub use rebuild::{RebuildProgress, RebuildReport, ReplayReport};
pub use request::{ReadRequest, ReadResult};
pub use settings::{Backoff, Settings, Sharing, StartFrom};
pub use status::{LeaseStatus, PENDING_COUNT_MAX, ProcessorStatus, ProjectionHealth, ProjectionStatus};
pub use tail::{Tail, TailSettings, TailSource};
pub use tail_position::TailPosition;
pub use write_watches::{Watch, WriteWatches};
