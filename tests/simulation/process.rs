//! A simulated process: the parts of `onehop serve`, over the shared account, with a clock of its own.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::Request;
use futures::future::BoxFuture;
use onehop::accounts::brute_force_protection::AttemptLimits;
use onehop::accounts::hashing_queue::HashingCaller;
use onehop::accounts::password::HashingCost;
use onehop::accounts::signing_secrets::SigningSecret;
use onehop::accounts::staff::Staff;
use onehop::accounts::token::{ACCESS_TOKEN_LIFETIME_DEFAULT, Tokens};
use onehop::api::{ApiOptions, ApiParts, ServedApiParts, api_of, served_api_of};
use onehop::app::{
    AcceptedChanges, App, AppOptions, Member, OpenStore, OperatedDomain, ServedApp, projections,
};
use onehop::blog::commands::CreateUser;
use onehop::served::{FieldsInBuilding, ServedModel};
use onehop_change_feed::Sharing;
use onehop_runtime::clock::Clock;
use onehop_runtime::tasks::{Spawner, Tasks};
use onehop_store::Ledger;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::blog::PASSWORD;
use crate::clock::ProcessClock;

/// The longest answer that a client takes, in bytes.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The username of the member of staff.
pub const STAFF_NAME: &str = "shopkeeper";
const KEY: [u8; 48] = [7; 48];

/// The release of a process.
pub enum Release {
    /// The built-in domains. An older release does not know some projections.
    BuiltIn { unknown: Vec<&'static str> },
    /// A version of a model.
    Served(Arc<ServedModel>),
}

/// A process that serves.
pub struct Process {
    pub domain: OperatedDomain,
    /// The fields of a served model that are not answered yet.
    pub in_building: FieldsInBuilding,
    pub router: Router,
    pub clock: Arc<ProcessClock>,
}

/// A request of a client.
pub struct ClientRequest {
    pub address: IpAddr,
    pub token: Option<String>,
    pub body: Value,
}

impl Process {
    /// Starts a process over a store, which it may share with others.
    pub async fn start(
        store: OpenStore,
        (name, release): (String, Release),
        (clock, spawner): (Arc<ProcessClock>, Spawner),
    ) -> anyhow::Result<Self> {
        let options = AppOptions {
            hashing: HashingCost::CHEAP,
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            tasks: Tasks::on(spawner),
            ..AppOptions::default()
        };
        let sharing = match store {
            OpenStore::Embedded(_) => Sharing::Alone,
            _ => Sharing::with_others(),
        };
        let member = Member { owner: name, sharing };
        let (domain, in_building, router) = match release {
            Release::BuiltIn { unknown } => built_in(&store, &unknown, (member, options)).await?,
            Release::Served(model) => served(&store, model, (member, options)).await?,
        };
        Ok(Self { domain, in_building, router, clock })
    }
}

/// The domain of a process, its fields in building, and its routes.
type Served = (OperatedDomain, FieldsInBuilding, Router);

async fn built_in(
    store: &OpenStore,
    unknown: &[&str],
    (member, options): (Member, AppOptions),
) -> anyhow::Result<Served> {
    let known = projections().into_iter().filter(|projection| !unknown.contains(&projection.name()));
    let app = Arc::new(App::projecting(store, member, known.collect(), options).await?);
    let staff = CreateUser {
        username: STAFF_NAME.to_owned(),
        password: PASSWORD.to_owned(),
        idempotency_key: Some("the member of staff".to_owned()),
        caller: HashingCaller::default(),
    };
    let staff = match app.commands.create_user(staff, &Ledger::new()).await {
        Ok(user) => Staff::new([user.id.0]),
        Err(error) => anyhow::bail!("there is no member of staff: {error:?}"),
    };
    let options = ApiOptions { attempts: attempts(), staff, ..ApiOptions::default() };
    let parts = ApiParts { tokens: tokens()?, provider: None, options, telemetry: None };
    let router = api_of(&app, parts)?.router;
    app.start(None);
    Ok((OperatedDomain::from(&app), FieldsInBuilding::default(), router))
}

async fn served(
    store: &OpenStore,
    model: Arc<ServedModel>,
    parts: (Member, AppOptions),
) -> anyhow::Result<Served> {
    let app = ServedApp::succeeding(model, store, AcceptedChanges::Compatible, parts).await?;
    let options = ApiOptions { attempts: attempts(), ..ApiOptions::default() };
    let parts =
        ServedApiParts { tokens: tokens()?, staff: HashSet::new(), provider: None, options, telemetry: None };
    let router = served_api_of(&app, parts)?.router;
    app.engine.start(None);
    app.start_building();
    Ok((OperatedDomain::from(&app), app.in_building.clone(), router))
}

fn tokens() -> anyhow::Result<Tokens> {
    Ok(Tokens::new(&SigningSecret::from_bytes(KEY.to_vec())?, ACCESS_TOKEN_LIFETIME_DEFAULT))
}

/// Clients sign in and up as often as they like.
fn attempts() -> AttemptLimits {
    AttemptLimits {
        sign_ins_per_address: 0,
        sign_ins_per_username: 0,
        sign_ups_per_address: 0,
        sign_ups_per_username: 0,
        taken_names_per_address: 0,
    }
}

/// Sends a request to a process. `None` where there is no answer in JSON.
pub fn send(router: Router, request: ClientRequest) -> BoxFuture<'static, Option<Value>> {
    let ClientRequest { address, token, body } = request;
    let mut request =
        Request::post("/graphql").header("host", "localhost").header("content-type", "application/json");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let mut request = request.body(Body::from(body.to_string())).expect("a request");
    request.extensions_mut().insert(ConnectInfo(SocketAddr::new(address, 40_000)));
    Box::pin(async move {
        let response = router.oneshot(request).await.expect("a router never fails");
        let bytes = to_bytes(response.into_body(), ANSWER_BYTES_MAX).await.ok()?;
        serde_json::from_slice(&bytes).ok()
    })
}

/// The answer to a `GET`.
pub struct GetAnswer {
    pub status: u16,
    pub entity_tag: Option<String>,
    pub body: Vec<u8>,
}

/// Sends a query by `GET`, unless it still has the answer with this entity tag. Anonymous.
pub fn get(
    router: Router,
    address: IpAddr,
    query: &str,
    entity_tag: Option<&str>,
) -> BoxFuture<'static, GetAnswer> {
    let escaped: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let mut request = Request::get(format!("/graphql?query={escaped}")).header("host", "localhost");
    if let Some(entity_tag) = entity_tag {
        request = request.header("if-none-match", entity_tag);
    }
    let mut request = request.body(Body::empty()).expect("a request");
    request.extensions_mut().insert(ConnectInfo(SocketAddr::new(address, 40_000)));
    Box::pin(async move {
        let response = router.oneshot(request).await.expect("a router never fails");
        let entity_tag = response.headers().get("etag").and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), ANSWER_BYTES_MAX)
            .await
            .map(|bytes| bytes.to_vec())
            .unwrap_or_default();
        GetAnswer { status, entity_tag, body }
    })
}

/// Timeout of the stop of a process.
pub const STOP_MAX: Duration = Duration::from_secs(60);
