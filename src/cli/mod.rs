//! The command line: one file for each command.

mod backup;
mod charges;
mod check;
mod compare;
mod copy;
mod dead_letters;
mod demo_users;
mod diagnose;
mod documents;
pub mod given_settings;
mod health;
mod import;
mod model;
pub mod new;
mod output;
mod progress;
mod provision;
pub mod read_models;
mod rebuild;
mod recover;
mod schema;
mod seed;
mod serve;
mod study;
mod token_secret;
mod verify;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use self::given_settings::GivenSettings;
use crate::config::{LogSettings, ProcessLog};

/// GraphQL API for a blog with CQRS read models on Azure Cosmos DB or an embedded store.
#[derive(Debug, Parser)]
#[command(name = "onehop", version, about, propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    pub log: LogSettings,
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the GraphQL API, the playground and the web pages
    ///
    /// It serves until SIGTERM or SIGINT, and then stops gracefully: it serves on for --drain-seconds, and
    /// then ends the requests in progress. A second signal ends the drain, and one after the drain stops at
    /// once.
    Serve(Box<serve::Serve>),
    /// Ask a server on this machine whether it lives, or with --ready whether it is ready
    ///
    /// Exit status: 0 yes, 1 another answer, 2 no answer.
    Health(health::Health),
    /// Seed a store with the article's data set at any size, or with sample data of a model, and wait for the
    /// read models
    ///
    /// It adds missing items, and writes nothing to deleted posts; so the same command resumes an interrupted
    /// seeding. It may run beside a server.
    Seed(seed::Seed),
    /// Compare request charge and latency of the data models, on the article's data set at any size
    ///
    /// It writes the data set once for each data model, runs the article's ten requests on it, and prints the
    /// operations and the charge of each, beside the article's figures. The report goes to standard output.
    Compare(compare::Compare),
    /// Check the model of request charges against published ones, fit its constants, explain a charge, and
    /// measure the charges of an account
    Charges(charges::Charges),
    /// Verify every count, copy, summary and reservation against the write side, and report each drift
    ///
    /// Exit status: 0 clean, 1 drifts are left, 2 the verification failed. Unreadable items are named, and
    /// the rest is verified.
    Verify(verify::Verify),
    /// Rebuild read models from the beginning of the change feed, while the old copies stay readable
    ///
    /// Exit status: 0 done, 1 items could not be read, 2 the rebuild failed.
    Rebuild(rebuild::Rebuild),
    /// Replay dead letters; the same as `dead-letters replay`
    ///
    /// A change that could not be projected is parked as a dead letter, with later changes of its logical
    /// partition behind it. Exit status: 0 nothing is parked any more, 1 changes are still parked, 2 the
    /// replay failed.
    Replay(rebuild::Replay),
    /// List, show and replay dead letters: changes that could not be projected
    ///
    /// A dead letter holds the parked changes of one logical partition: a change that could not be projected,
    /// and every later one behind it.
    DeadLetters(dead_letters::DeadLetters),
    /// Back up the data directory at this moment, also while a server writes to it
    ///
    /// The backup holds every write that was acknowledged before it began, and whole commits only. It leaves
    /// the signing secrets of access tokens out. It is a data directory, too: once a server was started on
    /// it, it is no backup any more. The target directory must be missing or empty.
    Backup(backup::Backup),
    /// Restore a backup into a new data directory
    ///
    /// A backup holds no signing secret of access tokens: users have to sign in again. An unfinished backup
    /// is refused.
    Restore(backup::Restore),
    /// Check the integrity of the data directory: items, index entries, change log entries and checksums
    ///
    /// It reads every item with each index entry, change log entry and checksum, and changes nothing. It
    /// reports lost writes, too. Exit status: 0 sound, 1 problems found, 2 the check failed. `onehop verify`
    /// compares read models with the write side.
    Check(check::Check),
    /// Recover a data directory that has lost writes or has damaged files, and report every lost item
    ///
    /// It keeps each readable item, makes index entries and read models anew, and names the lost items with
    /// container, partition key and id. A damaged engine is copied block by block into a new one and kept as
    /// `engine.damaged`; the list of all lost items is `lost-items.jsonl`. Try first to put missing files
    /// back. Where nothing is missing it changes nothing. Exit status: 0 sound and verified, with nothing
    /// lost, 1 damage or drifts are left, 2 the recovery failed, 3 sound and verified, with items or commits
    /// lost.
    Recover(recover::Recover),
    /// Collect settings, versions, metrics, leases, dead letters, files and the last log lines in one archive
    ///
    /// It asks the server that holds the data directory, or reads the directory itself. The archive (tar.gz)
    /// has no secrets and no bodies of items; it has ids, the host's name and, with --access-log, addresses
    /// of clients. Each part that cannot be read has its error in its place. Exit status: 0 each part is
    /// there, 1 some are not, 2 no archive was written.
    Diagnose(diagnose::Diagnose),
    /// List and rotate the signing keys of access tokens, also while a server runs
    ///
    /// The newest key signs, and all verify. There is a file for each key.
    TokenSecret(token_secret::TokenSecret),
    /// Lock the demo users, whose password is published, so that their data can be served with --production
    ///
    /// Their posts stay, and sign-ins as these users are refused from then on.
    LockDemoUsers(demo_users::LockDemoUsers),
    /// Create or update the database and the containers of an account on Azure Cosmos DB
    ///
    /// It creates missing parts and updates differing ones. Former composite indexes are removed by a later
    /// run, once the service has built the new ones; after that it does nothing. It needs a key of the
    /// account.
    Provision(provision::Provision),
    /// Copy the data of both domains, or of a model, from one store to another, and verify the copy
    ///
    /// It copies items and accounts, with their ids and dates. The target's read models are projected anew,
    /// and everything is verified. The same command resumes an interrupted copy.
    /// Nothing may write to either store meanwhile. Exit status as `verify`.
    Copy(copy::Copy),
    /// Print the GraphQL schema
    ///
    /// It prints the schema in SDL, as the file `schema.graphql` holds it, or as `operations.graphql` does.
    Schema(schema::Schema),
    /// Print the declared read models as Mermaid diagrams, or the cost of their changes
    ///
    /// It prints one flowchart for each domain, as docs/read-models.md has them. With --costs it prints the
    /// request charge of each kind of change, predicted and measured, and the idle charge, as
    /// docs/read-model-costs.md has them.
    ReadModels(read_models::PrintReadModels),
    /// Import files of rows into the store of a model: JSON lines and CSV, also compressed by gzip
    ///
    /// Copies, counts, lists and unique values follow as for any creation. The same command resumes an
    /// interrupted import. Exit status: 0 all rows are imported, 1 rows were rejected, 2 the import failed.
    Import(import::Import),
    /// Write a small commented model with example requests, for `serve --model`
    New(new::New),
    /// Check, print, draw and compare models: domains that are declared in one file
    ///
    /// The language is described in docs/model.md.
    Model(model::ModelCommand),
    /// Compare designs of one's own data: charges, partition keys, throughput, bills and the verdict
    ///
    /// A study is a directory with study.toml, designs, requests and data; docs/study.md is a tutorial.
    Study(study::StudyCommand),
    /// Print the documents of the web pages and of the playground's examples, for --trusted-documents
    ///
    /// It prints a JSON object from hash to document.
    Documents(documents::Documents),
}

/// The exit status of a command that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Status 0.
    Success,
    /// Status 1: a verification left drifts, a check found problems, a rebuild could not read items, a replay
    /// left changes parked, or a server is not healthy.
    Drifted,
    /// Status 3: a recovery has made the directory sound, and items or commits are lost.
    Lost,
}

impl Cli {
    /// The command line of this process. An error in it ends the process.
    #[must_use]
    pub fn of_process() -> Self {
        let mut command = Self::command();
        let matches = command.get_matches_mut();
        let mut cli = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        if let (Command::Serve(serve), Some((name, matches))) = (&mut cli.command, matches.subcommand())
            && let Some(command) = command.find_subcommand(name)
        {
            serve.given = GivenSettings::of(command, matches);
        }
        cli
    }

    /// Runs the command. Commands that serve leave repeated log lines out.
    ///
    /// # Errors
    /// The command failed: status 2.
    pub async fn run(self, log: ProcessLog) -> anyhow::Result<Exit> {
        match self.command {
            Command::Serve(command) => command.run(self.log.log_format, log).await,
            Command::Health(command) => command.run().await,
            Command::Seed(command) => command.run().await,
            Command::Compare(command) => command.run().await,
            Command::Charges(command) => command.run().await,
            Command::Verify(command) => command.run().await,
            Command::Rebuild(command) => command.run().await,
            Command::Replay(command) => command.run().await,
            Command::DeadLetters(command) => command.run().await,
            Command::Backup(command) => command.run().await,
            Command::Restore(command) => command.run().await,
            Command::Check(command) => command.run().await,
            Command::Recover(command) => command.run().await,
            Command::Diagnose(command) => command.run().await,
            Command::TokenSecret(command) => command.run(),
            Command::LockDemoUsers(command) => command.run().await,
            Command::Provision(command) => command.run().await,
            Command::Copy(command) => command.run().await,
            Command::Schema(command) => command.run(),
            Command::ReadModels(command) => command.run().await,
            Command::Import(command) => command.run().await,
            Command::New(command) => command.run(),
            Command::Model(command) => command.run(),
            Command::Study(command) => command.run().await,
            Command::Documents(command) => command.run(),
        }
    }
}
