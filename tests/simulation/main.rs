//! Simulation: whole runs of the system on one thread and in virtual time, each a function of one seed.
//!
//! A run has clients, processes with clocks of their own, and a model of an account with faults. Clients send
//! operations through the routes that `onehop serve` has; processes are started, stopped, killed and paused;
//! physical partitions split and merge. Afterwards everything is verified, and a checker looks for an order
//! of events that explains every answer.
//!
//! Each run has a process of the operating system for itself, so that nothing that lasts as long as a process
//! differs between runs.

mod blog;
mod blog_reads;
mod cached;
mod catalogue;
mod checker;
mod client;
mod clock;
mod desk;
mod dice;
mod editing;
mod event_stream;
mod executor;
mod faults;
mod finale;
mod history;
mod keys;
mod life;
mod live;
mod live_queries;
mod moderation;
mod monitors;
mod orders;
mod passwords;
mod phase;
mod plan;
mod process;
mod quiet;
mod randomness;
mod removals;
mod renames;
mod restored;
mod runner;
mod sessions;
mod shop;
mod shop_in_quiet;
mod signing_in;
mod store;
mod trace;
mod world;

/// The allocator of the server. Small runs spend a sixth of their time in the one of the C library.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
