//! Microsoft's in-memory Cosmos DB emulator behind HTTP, for trying `--store cosmos` with several processes
//! on one machine: `cargo run --example cosmos-emulator`.
//!
//! It keeps everything in memory and forgets it when it ends. It checks no key, and it measures neither cost
//! nor speed: its request charges mean nothing for queries, batches and the change feed.

mod forward;

use std::net::SocketAddr;

use anyhow::Context;
use axum::serve::ListenerExt;
use clap::Parser;
use tokio::net::TcpListener;

#[derive(Debug, Parser)]
struct Arguments {
    /// Address to listen on; clients allow plain HTTP for this machine only
    #[arg(long, default_value = "127.0.0.1:8081")]
    listen: SocketAddr,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Arguments { listen } = Arguments::parse();
    let listener = TcpListener::bind(listen).await.context("--listen")?;
    let base = format!("http://{}", listener.local_addr()?).parse()?;
    // Small answers are not held back for more.
    let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
    println!("cosmos-emulator listening on {base}");
    axum::serve(listener, forward::router(base)?).await?;
    Ok(())
}
