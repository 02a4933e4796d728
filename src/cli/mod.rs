//! The command line: one file for each command.

mod backup;
mod check;
mod compare;
mod copy;
mod dead_letters;
pub mod demo_users;
mod documents;
mod progress;
mod provision;
mod rebuild;
mod recover;
mod schema;
mod seed;
mod serve;
mod token_secret;
mod verify;
pub mod work;

use clap::{Parser, Subcommand};

use crate::config::LogSettings;

/// GraphQL API for a blog with CQRS read models on Azure Cosmos DB or an embedded store.
#[derive(Debug, Parser)]
#[command(name = "onehop", version, about, propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    pub log: LogSettings,
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the GraphQL API, the playground and the web pages
    Serve(Box<serve::Serve>),
    /// Seed a store with the article's data set at any size, and wait for the read models
    Seed(seed::Seed),
    /// Compare request charge and latency of the data models, on the article's data set at any size
    Compare(compare::Compare),
    /// Verify every count, copy, summary and username against the write side, and report each drift
    Verify(verify::Verify),
    /// Rebuild read models from the beginning of the change feed, while the old copies stay readable
    Rebuild(rebuild::Rebuild),
    /// Replay dead letters; the same as `dead-letters replay`
    Replay(rebuild::Replay),
    /// List, show and replay dead letters: changes that could not be projected
    DeadLetters(dead_letters::DeadLetters),
    /// Back up the data directory at this moment, also while a server writes to it
    Backup(backup::Backup),
    /// Restore a backup into a new data directory
    Restore(backup::Restore),
    /// Check the integrity of the data directory: items, index entries, change log entries and checksums
    Check(check::Check),
    /// Recover a data directory that has lost its journal or a part of it, and report what was dropped
    Recover(recover::Recover),
    /// List, rotate and drop the signing secrets of access tokens, also while a server runs
    TokenSecret(token_secret::TokenSecret),
    /// Lock the demo users, whose password is published, so that their data can be served with --production
    LockDemoUsers(demo_users::LockDemoUsers),
    /// Create or update the database and the containers of an account on Azure Cosmos DB
    Provision(provision::Provision),
    /// Copy a blog from one store to another, and verify the copy
    Copy(copy::Copy),
    /// Print the GraphQL schema
    Schema(schema::Schema),
    /// Print the documents of the web pages and of the playground's examples, for --trusted-documents
    Documents(documents::Documents),
}

/// How a command ended, for the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Status 0.
    Success,
    /// Status 1: a verification found drifts that are still there, a check something that is not sound, a rebuild something that
    /// cannot be read, or a replay left changes parked.
    Drifted,
}

impl Cli {
    /// Runs the command.
    ///
    /// # Errors
    /// Whatever kept the command from its end: status 2.
    pub async fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            Command::Serve(command) => command.run().await,
            Command::Seed(command) => command.run().await,
            Command::Compare(command) => command.run().await,
            Command::Verify(command) => command.run().await,
            Command::Rebuild(command) => command.run().await,
            Command::Replay(command) => command.run().await,
            Command::DeadLetters(command) => command.run().await,
            Command::Backup(command) => command.run().await,
            Command::Restore(command) => command.run().await,
            Command::Check(command) => command.run().await,
            Command::Recover(command) => command.run().await,
            Command::TokenSecret(command) => command.run(),
            Command::LockDemoUsers(command) => command.run().await,
            Command::Provision(command) => command.run().await,
            Command::Copy(command) => command.run().await,
            Command::Schema(command) => command.run(),
            Command::Documents(command) => command.run(),
        }
    }
}
