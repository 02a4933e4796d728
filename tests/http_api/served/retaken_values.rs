//! A unique value that an item gives up and takes again at once: the first command releases nothing of the
//! second one.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onehop::accounts::password::HashingCost;
use onehop::app::{AppOptions, Member, OpenStore, ServedApp};
use onehop_change_feed::Sharing;
use onehop_runtime::clock::SystemClock;
use onehop_store::{Ledger, Store, StoreCall, StoreDecorator, WriteOp};
use onehop_testing::account_model::{AccountModel, ModelConsistency, NoFaults};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::server::{Client, served_model};

const DESKS: &str = r#"
extend schema @model(name: "desks") @container(name: "desks", key: "/id")
type Desk @item(container: "desks", write: [CREATE, UPDATE]) @auth(on: [CREATE, UPDATE], allow: PUBLIC) {
  id: ID!
  code: String! @unique(normalize: LOWER)
}
"#;
const CREATE: &str = "mutation($i: CreateDeskInput!) { createDesk(input: $i) { desk { id } } }";
const UPDATE: &str = "mutation($i: UpdateDeskInput!) { updateDesk(input: $i) { desk { code } } }";

/// A store that waits before it deletes a reservation, when armed.
struct WaitsAtRelease {
    inner: Arc<dyn Store>,
    gate: Arc<Gate>,
}

#[derive(Default)]
struct Gate {
    is_armed: AtomicBool,
    reached: Notify,
    go_on: Notify,
}

impl StoreDecorator for WaitsAtRelease {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        let is_release = call.container().as_str() == "accounts"
            && call.writes().iter().any(|write| matches!(write, WriteOp::Delete { .. }));
        if is_release && self.gate.is_armed.swap(false, Ordering::SeqCst) {
            self.gate.reached.notify_one();
            self.gate.go_on.notified().await;
        }
        call.run(&*self.inner, ledger).await
    }
}

/// A process over the account.
async fn process(account: &Arc<AccountModel>, gate: &Arc<Gate>, owner: &str) -> (ServedApp, Client) {
    let wrapped = |consistency| -> Arc<dyn Store> {
        let inner = Arc::new(account.connect(consistency));
        Arc::new(WaitsAtRelease { inner, gate: Arc::clone(gate) })
    };
    let (store, recent) = (wrapped(ModelConsistency::Session), wrapped(ModelConsistency::Latest));
    let member = Member { owner: owner.to_owned(), sharing: Sharing::with_others() };
    let options = AppOptions { hashing: HashingCost::CHEAP, ..AppOptions::default() };
    let open = OpenStore::Shared { store, recent };
    let app = ServedApp::over(served_model(DESKS), &open, member, options).await.expect("the app opens");
    let client = Client::of(&app, HashSet::new()).await;
    (app, client)
}

#[tokio::test]
async fn a_late_release_leaves_the_reservation_of_a_later_claim() {
    let model = served_model(DESKS);
    let specs: &'static [_] = Box::leak(model.containers().to_vec().into_boxed_slice());
    let account = AccountModel::new(specs, 1, Arc::new(SystemClock), Arc::new(NoFaults) as _);
    let (gate, open) = (Arc::<Gate>::default(), Arc::<Gate>::default());
    let (_first, slow) = process(&account, &gate, "first").await;
    let (_second, other) = process(&account, &open, "second").await;
    let create = async |code: &str| -> String {
        let data = other.data(None, CREATE, json!({ "i": { "code": code } })).await;
        data["createDesk"]["desk"]["id"].as_str().unwrap().to_owned()
    };
    let (desk, rival) = (create("a-1").await, create("b-2").await);
    let to = |id: &str, code: &str| json!({ "i": { "deskId": id, "code": code } });

    gate.is_armed.store(true, Ordering::SeqCst);
    let taken_again = async {
        gate.reached.notified().await;
        let data: Value = other.data(None, UPDATE, to(&desk, "A-1")).await;
        gate.go_on.notify_one();
        data
    };
    let (given_up, taken_again) = tokio::join!(slow.data(None, UPDATE, to(&desk, "c-3")), taken_again);
    assert_eq!(given_up["updateDesk"]["desk"]["code"], "c-3");
    assert_eq!(taken_again["updateDesk"]["desk"]["code"], "A-1");
    let refusal = other.refusal(None, UPDATE, to(&rival, "a-1")).await;
    assert_eq!(refusal, ("CONFLICT".to_owned(), json!("code")), "the first desk has it");
    // The value without a holder is free.
    other.data(None, UPDATE, to(&rival, "c-3")).await;
}
