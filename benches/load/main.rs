//! The load run: what a request over HTTP costs, next to the same shapes answered from memory.
//!
//! The release server runs on a seeded data directory, and beside it a bare async-graphql schema that holds the same
//! data in memory. Both answer the same requests, in turns, from the same client. What is compared is the servers'
//! CPU time a request, since the client shares their cores. C2 to C4 run on the real server only.

mod arguments;
mod bare;
mod catalogue;
mod client;
mod measure;
mod operations;
mod process;
mod report;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Parser;
use tempfile::TempDir;

use self::arguments::Arguments;
use self::catalogue::Catalogue;
use self::measure::{Plan, Workload};
use self::operations::Operation;
use self::process::ServerProcess;
use self::report::{Report, Row};

/// As in the real server, so that the allocator makes no difference.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(catalogue) = &arguments.serve_bare {
        return bare::serve(catalogue);
    }
    if !arguments.bench {
        eprintln!("This is a measurement and not a test: cargo bench --bench load");
        return Ok(());
    }
    // One thread, so that the client takes at most one core from the servers.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::select! {
            outcome = run(&arguments) => outcome,
            _ = tokio::signal::ctrl_c() => bail!("interrupted"),
        }
    })
}

async fn run(arguments: &Arguments) -> Result<()> {
    let scratch = TempDir::new().context("no directory for the data")?;
    let data = match &arguments.data {
        Some(data) => data.clone(),
        None => seed(scratch.path(), arguments.users).await?,
    };
    let real = ServerProcess::start_real(&data, scratch.path()).await?;
    let catalogue = Catalogue::read(real.address(), arguments.connections).await?;
    let file = scratch.path().join("catalogue.json");
    catalogue.write(&file)?;
    let bare = ServerProcess::start_bare(&file, scratch.path()).await?;
    eprintln!(
        "server {}, bare schema {}; {} users, {} posts",
        real.id(),
        bare.id(),
        catalogue.users.len(),
        catalogue.posts.len()
    );
    let rows = measure_all(arguments, &catalogue, &real, &bare).await?;
    let report = Report { connections: arguments.connections, rows, peak_rss_kib: real.peak_rss_kib()? };
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{report}");
    }
    Ok(())
}

/// Fills a new data directory.
async fn seed(scratch: &Path, users: u32) -> Result<PathBuf> {
    let data = scratch.join("data");
    eprintln!("seeding {users} users");
    process::run_to_end(&["seed", "--users", &users.to_string(), "--data"], &data, scratch).await?;
    Ok(data)
}

/// Measures what was asked for. Reads come first, since they expect the data to stand still.
async fn measure_all(
    arguments: &Arguments,
    catalogue: &Catalogue,
    real: &ServerProcess,
    bare: &ServerProcess,
) -> Result<Vec<Row>> {
    let plan = Plan::new(arguments);
    let mut rows = Vec::new();
    for operation in Operation::READS.into_iter().filter(|operation| arguments.includes(*operation)) {
        let workload = Workload::anonymous(operation.document(), catalogue.variables(operation));
        measure::compare_answers(&workload, real.address(), bare.address()).await?;
        let (real, bare) = measure::in_turns(&plan, &workload, real, bare).await?;
        rows.push(Row { operation, server: real, bare: Some(bare) });
    }
    let writes: Vec<_> =
        Operation::WRITES.into_iter().filter(|operation| arguments.includes(*operation)).collect();
    if writes.is_empty() {
        return Ok(rows);
    }
    let tokens = operations::sign_up(real.address()).await?;
    for operation in writes {
        let workload =
            Workload::of_users(operation.document(), catalogue.variables(operation), tokens.clone());
        // A second like of the same user is refused.
        let workload = if operation == Operation::C4 { workload.once() } else { workload };
        let server = measure::alone(&plan, &workload, real).await?;
        rows.push(Row { operation, server, bare: None });
    }
    Ok(rows)
}
