//! `onehop health`: asks a server on this machine whether it lives or is ready, for health checks of
//! containers whose image has no other program.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use clap::builder::BoolishValueParser;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Exit;

/// Timeout of the whole question: readiness answers within 5 seconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(8);
/// The start of an answer with the status 200.
const OK: &[u8] = b"HTTP/1.1 200 ";

/// Arguments of `onehop health`.
#[derive(Debug, Args)]
pub struct Health {
    /// Address and port that the server listens on
    #[arg(long, value_name = "ADDRESS:PORT", env = "ONEHOP_LISTEN", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    /// Ask whether the server is ready, as a load balancer does, instead of whether it lives
    #[arg(long, env = "ONEHOP_READY", value_parser = BoolishValueParser::new())]
    ready: bool,
}

impl Health {
    pub async fn run(self) -> anyhow::Result<Exit> {
        let path = if self.ready { "/readyz" } else { "/healthz" };
        let address = reachable(self.listen);
        let answer = timeout(ANSWER_TIMEOUT, ask(address, path)).await;
        let answer =
            answer.with_context(|| format!("{address} does not answer within {ANSWER_TIMEOUT:?}"))?;
        let answer = answer.with_context(|| format!("{address} cannot be asked"))?;
        if answer.starts_with(OK) {
            return Ok(Exit::Success);
        }
        let answer = String::from_utf8_lossy(&answer);
        eprintln!("{address}{path}: {}", answer.lines().next().unwrap_or("no answer"));
        Ok(Exit::Drifted)
    }
}

async fn ask(address: SocketAddr, path: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(answer)
}

/// The address at which a server that listens on any address is reached.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_all_addresses_is_asked_on_this_machine() {
        let reached = |listen: &str| reachable(listen.parse().unwrap()).to_string();
        assert_eq!(reached("0.0.0.0:8080"), "127.0.0.1:8080");
        assert_eq!(reached("[::]:8080"), "[::1]:8080");
        assert_eq!(reached("192.0.2.7:80"), "192.0.2.7:80");
    }
}
