//! The load run: the cost of a request over HTTP, next to the same shapes answered from memory.
//!
//! The release server runs on a seeded data directory, and beside it a bare async-graphql schema that holds
//! the same data in memory, and a server of the blog's model alone on a copy of the data. All answer the same
//! requests, in turns, from the same client. The figure is the servers' CPU time a request, since the client
//! shares their cores. C2 to C4 have no bare schema; they are compared with its Q1.

mod arguments;
mod bare;
mod catalogue;
mod client;
mod commit_phases;
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
use self::process::{Peer, Server, ServerProcess};
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
        None => seed(process::this_program(), scratch.path().join("data"), scratch.path(), arguments).await?,
    };
    let servers = Servers::start(arguments, &data, scratch.path()).await?;
    let rows = measure_all(arguments, &servers).await?;
    let peak_rss_kib = servers.real.peak_rss_kib()?;
    let report = Report { connections: arguments.connections, rows, peak_rss_kib };
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{report}");
    }
    Ok(())
}

/// Has a program fill a new data directory.
async fn seed(program: &Path, data: PathBuf, scratch: &Path, arguments: &Arguments) -> Result<PathBuf> {
    let (users, texts) = (arguments.users.to_string(), arguments.texts.name());
    eprintln!("seeding {users} users with {texts} texts");
    let command = ["seed", "--users", &users, "--texts", texts, "--data"];
    process::run_to_end(program, &command, &data, scratch).await?;
    Ok(data)
}

/// The compared servers, on the same data.
struct Servers {
    catalogue: Catalogue,
    real: ServerProcess,
    /// The program before a change.
    before: Option<ServerProcess>,
    bare: ServerProcess,
    /// The blog's model, served without its Rust, and the data under the ids that it shows.
    served: ServerProcess,
    served_catalogue: Catalogue,
    peer: Option<Peer>,
}

impl Servers {
    async fn start(arguments: &Arguments, data: &Path, scratch: &Path) -> Result<Self> {
        let before = match &arguments.before {
            Some(program) => {
                let copy = scratch.join("before");
                match &arguments.data {
                    Some(origin) => process::copy_directory(origin, &copy)?,
                    // The same data, by its seed: the program before may have written another format.
                    None => drop(seed(program, copy.clone(), scratch, arguments).await?),
                }
                Some(ServerProcess::start_real(program, &copy, scratch).await?)
            }
            None => None,
        };
        let copy = scratch.join("served");
        process::copy_directory(data, &copy)?;
        let served = ServerProcess::start_served(process::blog_model(), &copy, scratch).await?;
        let served_catalogue = Catalogue::read(served.address(), arguments.connections).await?;
        let real = ServerProcess::start_real(process::this_program(), data, scratch).await?;
        let mut catalogue = Catalogue::read(real.address(), arguments.connections).await?;
        if arguments.random {
            catalogue.draw_from_all_posts(real.address(), arguments.connections).await?;
        }
        let file = scratch.join("catalogue.json");
        catalogue.write(&file)?;
        let bare = ServerProcess::start_bare(&file, scratch).await?;
        let (users, posts) = (catalogue.users.len(), catalogue.posts.len());
        eprintln!("server {}, bare schema {}; {users} users, {posts} posts", real.id(), bare.id());
        let peer =
            (arguments.peer.clone()).map(|address| Peer::new(address, arguments.peer_processes.clone()));
        Ok(Self { catalogue, real, before, bare, served, served_catalogue, peer })
    }
}

/// Makes the requested measurements. Reads come first, since they expect the data to stand still.
async fn measure_all(arguments: &Arguments, servers: &Servers) -> Result<Vec<Row>> {
    let plan = Plan::new(arguments);
    let mut rows = Vec::new();
    for operation in Operation::READS.into_iter().filter(|operation| arguments.includes(*operation)) {
        rows.push(measure_read(&plan, operation, servers).await?);
    }
    let writes: Vec<_> =
        Operation::WRITES.into_iter().filter(|operation| arguments.includes(*operation)).collect();
    if writes.is_empty() {
        return Ok(rows);
    }
    let bare_q1 = rows.iter().find(|row| row.operation == Operation::Q1).and_then(|row| row.bare.clone());
    let mut targets = vec![WriteTarget::new(&servers.real, &servers.catalogue).await?];
    if let Some(before) = &servers.before {
        targets.push(WriteTarget::new(before, &servers.catalogue).await?);
    }
    let catalogue_of_peer;
    if let Some(peer) = &servers.peer {
        let posts = if arguments.random { usize::MAX } else { catalogue::POSTS_MAX };
        catalogue_of_peer = Catalogue::of_peer(peer.address(), posts).await?;
        targets.push(WriteTarget::new(peer, &catalogue_of_peer).await?);
    }
    for operation in writes {
        let workloads: Vec<_> = targets.iter().map(|target| target.workload(operation)).collect();
        let measured: Vec<_> = targets.iter().map(|target| target.server).zip(&workloads).collect();
        let mut figures = measure::in_turns(&plan, &measured).await?.into_iter();
        let server = figures.next().context("no figures")?;
        let before = servers.before.as_ref().and_then(|_| figures.next());
        let (peer, bare_q1) = (figures.next(), bare_q1.clone());
        rows.push(Row { operation, server, before, peer, bare: None, bare_q1, served: None });
    }
    Ok(rows)
}

/// Target of measured writes: a server, with the posts and the users of the requests to it.
struct WriteTarget<'a> {
    server: &'a dyn Server,
    catalogue: &'a Catalogue,
    /// Of the users who write.
    tokens: Vec<String>,
}

impl<'a> WriteTarget<'a> {
    async fn new(server: &'a dyn Server, catalogue: &'a Catalogue) -> Result<Self> {
        Ok(Self { server, catalogue, tokens: operations::sign_up(server.address()).await? })
    }

    fn workload(&self, operation: Operation) -> Workload {
        let variables = self.catalogue.variables(operation);
        let workload = Workload::of_users(operation.document(), variables, self.tokens.clone());
        // A second like of the same user is refused.
        if operation == Operation::C4 { workload.once() } else { workload }
    }
}

async fn measure_read(plan: &Plan, operation: Operation, servers: &Servers) -> Result<Row> {
    let Servers { catalogue, real, before, bare, served, served_catalogue, peer: _ } = servers;
    let workload = Workload::anonymous(operation.document(), catalogue.variables(operation));
    let served_workload = Workload::anonymous(operation.document(), served_catalogue.variables(operation));
    measure::compare_answers(&workload, real.address(), bare.address()).await?;
    let mut measured: Vec<(&dyn Server, _)> =
        vec![(real, &workload), (bare, &workload), (served, &served_workload)];
    measured.extend(before.as_ref().map(|server| (server as &dyn Server, &workload)));
    let mut figures = measure::in_turns(plan, &measured).await?.into_iter();
    let (server, bare) = (figures.next().context("no figures")?, figures.next());
    let served = figures.next();
    Ok(Row { operation, server, before: figures.next(), peer: None, bare, bare_q1: None, served })
}
