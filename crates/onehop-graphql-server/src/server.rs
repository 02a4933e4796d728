//! Listens, serves connections, and stops in an orderly way. Knows TCP and HTTP/1.1, not the served content.

use std::{convert::Infallible, io, net::SocketAddr, time::Duration};

use axum::Router;
use axum::http::header::{CONNECTION, UPGRADE};
use axum::http::{HeaderValue, StatusCode};
use hyper::{
    Request,
    body::Incoming,
    server::conn::http1,
    service::{Service as _, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinError, JoinSet},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    client_address::{Network, PeerAddress},
    client_stream::{ClientStream, UnreadBody},
    connection_limits::{ConnectionLimiter, ConnectionSlot},
};

/// Limit of connections that are served at once, beside long-lived ones.
pub const CONNECTIONS_MAX: usize = 10_000;

/// Limit of the connections of one network.
pub const CONNECTIONS_PER_NETWORK_MAX: usize = 1_000;

/// The longest head of a request, in bytes, with its URL.
pub const HEADER_BYTES_MAX: usize = 64 * 1024;

/// Timeout of the head of a request, and of an idle connection.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// Write timeout: the time for which a client may take nothing of an answer.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// The time for a request that is on its way when the server stops: a connection that is closed under it is
/// reset, and the client cannot know whether the request ran.
pub const LAST_REQUEST_WAIT: Duration = Duration::from_millis(500);

/// The limits of connections.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    pub connections_max: usize,
    /// Connections of one network; 0 for any number, as behind a proxy.
    pub connections_per_network_max: usize,
    /// At least 8192.
    pub header_bytes_max: usize,
    pub header_timeout: Duration,
    pub write_timeout: Duration,
    /// The time for which a connection without a request is still served once the server stops.
    pub last_request_wait: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections_max: CONNECTIONS_MAX,
            connections_per_network_max: CONNECTIONS_PER_NETWORK_MAX,
            header_bytes_max: HEADER_BYTES_MAX,
            header_timeout: HEADER_TIMEOUT,
            write_timeout: WRITE_TIMEOUT,
            last_request_wait: LAST_REQUEST_WAIT,
        }
    }
}

impl ConnectionLimits {
    /// The same with room for this many connections that stay open, and this many of each network; 0 for any
    /// number.
    #[must_use]
    pub fn beside(self, staying_open_max: usize, per_network_max: usize) -> Self {
        let connections_per_network_max = match (self.connections_per_network_max, per_network_max) {
            (0, _) | (_, 0) => 0,
            (requests, staying_open) => requests.saturating_add(staying_open),
        };
        let connections_max = self.connections_max.saturating_add(staying_open_max);
        Self { connections_max, connections_per_network_max, ..self }
    }

    /// The same with no more connections than this.
    #[must_use]
    pub fn at_most(self, connections_max: usize) -> Self {
        Self { connections_max: self.connections_max.min(connections_max), ..self }
    }
}

/// Timeout of the head of a request beyond the limits, where only health is answered.
const RESERVE_HEADER_TIMEOUT: Duration = Duration::from_secs(2);

/// In the extensions of a request: its connection is beyond a limit, and only health is answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct OnReserve;

/// The wait before the next `accept` when the system has no room for another socket.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("cannot listen on {address}: {source}")]
    Bind { address: SocketAddr, source: io::Error },
}

/// The way in which a server stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// Every request that was under way had its answer.
    Gracefully,
    /// The deadline passed: that many connections were dropped.
    DroppingConnections(usize),
}

/// A socket that listens and does not yet serve.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    local_address: SocketAddr,
    limits: ConnectionLimits,
    draining: CancellationToken,
}

impl Server {
    /// Listens; port 0 takes a free one.
    pub async fn bind(address: SocketAddr) -> Result<Self, ServerError> {
        let bind_error = |source| ServerError::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(bind_error)?;
        let local_address = listener.local_addr().map_err(bind_error)?;
        let (limits, draining) = (ConnectionLimits::default(), CancellationToken::new());
        Ok(Self { listener, local_address, limits, draining })
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(self, limits: ConnectionLimits) -> Self {
        Self { limits, ..self }
    }

    /// The same, whose answers close their connections once this token fires, so that clients connect
    /// elsewhere.
    #[must_use]
    pub fn with_drain(self, draining: CancellationToken) -> Self {
        Self { draining, ..self }
    }

    /// Its limits.
    pub fn limits(&self) -> ConnectionLimits {
        self.limits
    }

    /// Where it listens: the port is the real one.
    pub fn local_address(&self) -> SocketAddr {
        self.local_address
    }

    /// Serves until `stop` fires; then takes no more connections, and gives requests that are under way until
    /// the deadline to finish. Connections without a request are closed after a moment in which a request
    /// that was sent meanwhile arrives.
    ///
    /// Dropping the future drops every connection.
    pub async fn serve(self, router: Router, stop: CancellationToken, deadline: Duration) -> Stopped {
        let mut connections = JoinSet::new();
        self.accept_until_stopped(&mut connections, router, &stop).await;
        let finished = timeout(deadline, async {
            while let Some(ended) = connections.join_next().await {
                report(ended);
            }
        });
        if finished.await.is_ok() {
            return Stopped::Gracefully;
        }
        let dropped = connections.len();
        connections.shutdown().await;
        Stopped::DroppingConnections(dropped)
    }

    async fn accept_until_stopped(
        self,
        connections: &mut JoinSet<()>,
        router: Router,
        stop: &CancellationToken,
    ) {
        let ConnectionLimits { connections_max, connections_per_network_max, .. } = self.limits;
        let places = ConnectionLimiter::new(connections_max, connections_per_network_max);
        let phases = Phases { draining: self.draining.clone(), stop: stop.clone() };
        let serve = |(stream, peer): (TcpStream, SocketAddr), connections: &mut JoinSet<()>| {
            let slot = places.open(Network::from(peer.ip()));
            let accepted = Accepted { stream, peer: PeerAddress(peer.ip()), slot };
            connections.spawn(accepted.serve(router.clone(), phases.clone(), self.limits));
        };
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(ended) = connections.join_next() => report(ended),
                accepted = self.listener.accept() => match accepted {
                    Ok(accepted) => serve(accepted, connections),
                    Err(error) => {
                        tracing::warn!(%error, "a connection was not accepted");
                        sleep(ACCEPT_RETRY_DELAY).await;
                    }
                },
            }
        }
        for accepted in waiting_connections(self.listener) {
            serve(accepted, connections);
        }
    }
}

/// Closes a listener, and returns the connections that the system had taken for it: they would be reset.
fn waiting_connections(listener: TcpListener) -> Vec<(TcpStream, SocketAddr)> {
    let Ok(listener) = listener.into_std() else { return Vec::new() };
    // Neither socket blocks.
    std::iter::from_fn(|| listener.accept().ok())
        .filter_map(|(stream, peer)| {
            stream.set_nonblocking(true).ok()?;
            Some((TcpStream::from_std(stream).ok()?, peer))
        })
        .collect()
}

/// The stages of the server's end, as connections see them.
#[derive(Debug, Clone)]
struct Phases {
    draining: CancellationToken,
    stop: CancellationToken,
}

impl Phases {
    /// Whether clients are to connect elsewhere.
    fn is_ending(&self) -> bool {
        self.draining.is_cancelled() || self.stop.is_cancelled()
    }
}

/// A connection that is accepted, and its place.
struct Accepted {
    stream: TcpStream,
    peer: PeerAddress,
    slot: ConnectionSlot,
}

impl Accepted {
    /// Serves it; beyond the limits until another one needs its place.
    async fn serve(self, router: Router, phases: Phases, limits: ConnectionLimits) {
        match self.slot.eviction() {
            None => serve_connection(self, None, router, phases, limits).await,
            Some(eviction) => {
                let header_timeout = limits.header_timeout.min(RESERVE_HEADER_TIMEOUT);
                let limits = ConnectionLimits { header_timeout, ..limits };
                let serving = serve_connection(self, Some(OnReserve), router, phases, limits);
                eviction.run_until_cancelled(serving).await;
            }
        }
    }
}

async fn serve_connection(
    Accepted { stream, peer, slot }: Accepted,
    on_reserve: Option<OnReserve>,
    router: Router,
    phases: Phases,
    limits: ConnectionLimits,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY was not set");
    }
    let unread = UnreadBody::default();
    let stream = ClientStream::new(stream, limits.write_timeout, unread.clone(), Some(slot));
    let router = TowerToHyperService::new(router);
    let stop = phases.stop.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(|body| unread.watch(body));
        request.extensions_mut().insert(peer);
        if let Some(on_reserve) = on_reserve {
            request.extensions_mut().insert(on_reserve);
        }
        let is_upgrade = request.headers().contains_key(UPGRADE);
        let answer = router.call(request);
        let phases = phases.clone();
        async move {
            let mut response = answer.await?;
            let is_upgraded = response.status() == StatusCode::SWITCHING_PROTOCOLS;
            // Bytes after a refused upgrade were not looked at.
            if !is_upgraded && (is_upgrade || phases.is_ending()) {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(on_reserve.is_none())
        .header_read_timeout(limits.header_timeout)
        .max_header_size(limits.header_bytes_max)
        .max_buf_size(limits.header_bytes_max)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = stop.cancelled() => {
            // An answer from now on closes its connection.
            let last_request = timeout(limits.last_request_wait, connection.as_mut());
            match last_request.await {
                Ok(served) => served,
                Err(_) => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            }
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended early");
    }
}

fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "the task of a connection failed");
    }
}
