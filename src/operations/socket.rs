//! Operations socket: serves the whole operations API on a Unix socket in the data directory, over HTTP and
//! WebSocket (`graphql-transport-ws`). The socket has mode 0600, so its clients are the users who may read
//! the data.

use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_graphql::http::ALL_WEBSOCKET_PROTOCOLS;
use async_graphql_axum::{GraphQL, GraphQLProtocol, GraphQLWebSocket};
use axum::Router;
use axum::extract::{Request, State, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, serve};
use tokio::net::UnixListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tower_http::limit::RequestBodyLimitLayer;

use super::audience::Audience;
use super::context::Context;
use super::diagnosis::DiagnosisSources;
use super::limits::{CLIENTS_MAX, REQUEST_BYTES_MAX};
use super::{OperationsSchema, PATH, schema_over};
use crate::app::OperatedDomain;

/// The socket's name in the data directory.
pub const SOCKET_FILE: &str = "control.sock";
/// Bytes that the system allows for a socket's address, with some left over.
const ADDRESS_BYTES_MAX: usize = 100;

/// The status for a client beyond [`CLIENTS_MAX`].
pub(super) const TOO_MANY_CLIENTS: StatusCode = StatusCode::TOO_MANY_REQUESTS;
/// The status for a request that the stop of the process ends.
pub(super) const STOPPING: StatusCode = StatusCode::SERVICE_UNAVAILABLE;

/// Serves the operations API in the data directory until the process stops. An account on Azure Cosmos DB
/// has no data directory, and no socket: commands connect to the account themselves.
///
/// # Errors
/// When the socket cannot be made.
pub fn serve_socket(
    domain: impl Into<OperatedDomain>,
    allows_demo: bool,
    sources: DiagnosisSources,
) -> io::Result<()> {
    let domain = domain.into();
    let engine = domain.engine();
    let Some(directory) = engine.data_directory() else { return Ok(()) };
    let (socket, stop) = (Socket::bind(directory)?, engine.tasks.soft_stop());
    let schema = schema_over(Context {
        domain: domain.clone(),
        allows_demo,
        audience: Audience::Operator,
        progress: Arc::default(),
        sources: Some(sources),
    });
    engine.tasks.spawn("operations socket", async move {
        socket.serve(schema, stop).await;
        Ok::<(), Infallible>(())
    });
    Ok(())
}

/// A socket that listens.
struct Socket {
    listener: UnixListener,
    file: SocketFile,
}

/// The file of a socket, which is removed with it.
struct SocketFile(PathBuf);

impl Socket {
    /// Listens in a data directory, which the caller holds locked: a socket that is there already was left
    /// behind.
    fn bind(data_directory: &Path) -> io::Result<Self> {
        let path = data_directory.join(SOCKET_FILE);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let (directory, address) = short_address(data_directory)?;
        let listener = UnixListener::bind(address)?;
        drop(directory);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, file: SocketFile(path) })
    }

    /// Serves until `stop` fires. Work in progress ends then, and its client reads the end of the connection.
    async fn serve(self, schema: OperationsSchema, stop: CancellationToken) {
        let Self { listener, file: _file } = self;
        stop.run_until_cancelled(serve(listener, routes(schema, stop.clone())).into_future()).await;
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // A leftover socket is replaced at the next start.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The address of the socket. An address that is too long for the system is reached through an open
/// directory, which has to stay open as long as the address is used.
pub(super) fn short_address(data_directory: &Path) -> io::Result<(Option<File>, PathBuf)> {
    let path = data_directory.join(SOCKET_FILE);
    if path.as_os_str().len() <= ADDRESS_BYTES_MAX {
        return Ok((None, path));
    }
    let directory = File::open(data_directory)?;
    let address = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(SOCKET_FILE);
    Ok((Some(directory), address))
}

/// The concurrency limit of clients, and the end of the process.
#[derive(Clone)]
struct Clients {
    free: Arc<Semaphore>,
    stop: CancellationToken,
}

/// The place of one client, held until its connection or its request ends.
#[derive(Clone)]
struct ClientPermit(Arc<OwnedSemaphorePermit>);

fn routes(schema: OperationsSchema, stop: CancellationToken) -> Router {
    let clients = Clients { free: Arc::new(Semaphore::new(CLIENTS_MAX)), stop };
    let websocket = get(websocket).with_state((schema.clone(), clients.clone()));
    Router::new()
        .route(PATH, websocket.post_service(GraphQL::new(schema)))
        .layer(RequestBodyLimitLayer::new(REQUEST_BYTES_MAX))
        .layer(from_fn_with_state(clients, limit_clients))
}

/// Refuses a client beyond [`CLIENTS_MAX`], and ends a request at the stop.
async fn limit_clients(State(clients): State<Clients>, mut request: Request, next: Next) -> Response {
    let Ok(permit) = clients.free.try_acquire_owned() else {
        return TOO_MANY_CLIENTS.into_response();
    };
    let permit = ClientPermit(Arc::new(permit));
    request.extensions_mut().insert(permit.clone());
    let answered = clients.stop.run_until_cancelled(next.run(request)).await;
    drop(permit);
    answered.unwrap_or_else(|| STOPPING.into_response())
}

/// Serves a WebSocket, until its client leaves or the process stops. Its operations end with it.
async fn websocket(
    State((schema, clients)): State<(OperationsSchema, Clients)>,
    Extension(permit): Extension<ClientPermit>,
    protocol: GraphQLProtocol,
    upgrade: WebSocketUpgrade,
) -> Response {
    let upgrade = upgrade.protocols(ALL_WEBSOCKET_PROTOCOLS).max_message_size(REQUEST_BYTES_MAX);
    upgrade.on_upgrade(async move |socket| {
        let _permit = permit.0;
        let serving = GraphQLWebSocket::new(socket, schema, protocol).serve();
        clients.stop.run_until_cancelled(serving).await;
    })
}
