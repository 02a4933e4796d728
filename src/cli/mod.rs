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

/// A GraphQL API for a blogging platform whose every read is one hop to one logical partition.
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
    /// Serve the GraphQL API, the playground and the web page
    Serve(Box<serve::Serve>),
    /// Write the article's data set at any size, and wait for the read models
    Seed(seed::Seed),
    /// Say what each data model costs, on the article's data set at any size
    Compare(compare::Compare),
    /// Recompute every count, copy, summary and username, and report each drift
    Verify(verify::Verify),
    /// Fill read models again from the beginning of the change feed
    Rebuild(rebuild::Rebuild),
    /// Try parked changes again; the same as `dead-letters replay`
    Replay(rebuild::Replay),
    /// Look at changes that could not be projected, and try them again
    DeadLetters(dead_letters::DeadLetters),
    /// Copy the data directory as it is at this moment, also while a server writes to it
    Backup(backup::Backup),
    /// Make a data directory of a backup
    Restore(backup::Restore),
    /// Say whether the data directory is sound
    Check(check::Check),
    /// Go on with a data directory that has lost writes, and say what was dropped
    Recover(recover::Recover),
    /// List, rotate and drop the secrets that sign access tokens, while a server runs
    TokenSecret(token_secret::TokenSecret),
    /// Take the published password from the demo users, so that their data can be served with --production
    LockDemoUsers(demo_users::LockDemoUsers),
    /// Make the database and the containers of an account on Azure Cosmos DB
    Provision(provision::Provision),
    /// Copy a blog from one store to another, and verify it there
    Copy(copy::Copy),
    /// Print the GraphQL schema
    Schema(schema::Schema),
    /// Print the documents that the web pages send, for --trusted-documents
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
