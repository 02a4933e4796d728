//! Writes that the client library of an account sends twice: the first one has its effect, and the second one
//! is refused for it. The command is carried out all the same.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onehop::accounts::password::HashingCost;
use onehop::app::{AppOptions, Member, OpenStore, ServedApp};
use onehop_change_feed::Sharing;
use onehop_runtime::clock::SystemClock;
use onehop_testing::account_model::{
    AccountFaults, AccountModel, FaultPoint, InjectedFault, ModelConsistency, Outcome,
};
use serde_json::{Value, json};

use super::server::{BIRDS, Client, served_model};

/// Sends the next write of a site twice, when armed.
#[derive(Default)]
struct Twice(AtomicBool);

impl AccountFaults for Twice {
    fn next(&self, point: &FaultPoint<'_>) -> Outcome {
        let is_next = point.container.as_str() == "sites" && point.request.writes();
        match is_next && self.0.swap(false, Ordering::SeqCst) {
            true => Outcome::fault(InjectedFault::SentAgain),
            false => Outcome::default(),
        }
    }
}

struct Served {
    client: Client,
    twice: Arc<Twice>,
    token: String,
    site: String,
}

impl Served {
    async fn start() -> Self {
        let (model, twice) = (served_model(BIRDS), Arc::<Twice>::default());
        let specs: &'static [_] = Box::leak(model.containers().to_vec().into_boxed_slice());
        let account = AccountModel::new(specs, 1, Arc::new(SystemClock), Arc::clone(&twice) as _);
        let store = account.connect(ModelConsistency::Session);
        let recent = Arc::new(store.with_consistency(ModelConsistency::Latest));
        let open = OpenStore::Shared { store: Arc::new(store), recent };
        let member = Member { owner: "test".to_owned(), sharing: Sharing::with_others() };
        let options = AppOptions { hashing: HashingCost::CHEAP, ..AppOptions::default() };
        let app = ServedApp::over(model, &open, member, options).await.expect("the app opens");
        let client = Client::of(&app, HashSet::new()).await;
        let (token, _) = client.sign_up("Ada", "ada@example.com").await;
        let site = client.create_site(&token, "Marsh").await;
        Self { client, twice, token, site }
    }

    /// The response to a mutation whose write is sent twice.
    async fn twice(&self, query: &str, input: Value) -> Value {
        self.twice.0.store(true, Ordering::SeqCst);
        let response = self.client.send(Some(&self.token), query, json!({ "i": input })).await;
        assert!(!self.twice.0.load(Ordering::SeqCst), "something was written");
        response
    }
}

#[tokio::test]
async fn a_condition_is_no_conflict_with_the_command_itself() {
    let served = Served::start().await;
    let close = "mutation($i: CloseSiteInput!) { closeSite(input: $i) { site { isClosed } } }";
    let input = json!({ "siteId": served.site, "isClosed": true });
    let response = served.twice(close, input.clone()).await;
    assert_eq!(response["data"]["closeSite"]["site"]["isClosed"], true, "{response}");
    let refusal = served.client.refusal(Some(&served.token), close, json!({ "i": input })).await;
    assert_eq!(refusal.0, "CONFLICT", "it is closed");
}

#[tokio::test]
async fn a_version_is_no_conflict_with_the_command_itself() {
    let served = Served::start().await;
    let update = "mutation($i: UpdateSiteInput!) { updateSite(input: $i) { site { name revision } } }";
    let input = json!({ "siteId": served.site, "name": "Fen", "ifVersion": 1 });
    let response = served.twice(update, input.clone()).await;
    assert_eq!(response["data"]["updateSite"]["site"], json!({ "name": "Fen", "revision": 2 }), "{response}");
    let refusal = served.client.refusal(Some(&served.token), update, json!({ "i": input })).await;
    assert_eq!(refusal.0, "CONFLICT", "the version has changed");
}
