//! Clients of the web store: staff, who keep the catalogue, and customers, who order. Their sessions.

use std::time::Duration;

use serde_json::{Value, json};

use crate::blog::PASSWORD;
use crate::client::{Answer, Client, Session};
use crate::history::{LateUse, Recent, Write};
use crate::orders::{CANCELLED, SHIPPED};
use crate::process::STAFF_NAME;

/// Few addresses, so that clients compete for them.
const ADDRESSES: [&str; 12] = [
    "eva@example.com",
    "EVA@example.com",
    "finn@example.com",
    "gina@example.com",
    "hugo@example.com",
    "ida@example.com",
    "jan@example.com",
    "kim@example.com",
    "lea@example.com",
    "max@example.com",
    "nina@example.com",
    "otto@example.com",
];

/// The role of a client in the web store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Staff,
    Customer,
    /// Staff of the blog.
    Moderator,
}

/// The clients' knowledge of the catalogue.
#[derive(Default)]
pub struct Catalogue {
    pub categories: Vec<String>,
    pub tags: Vec<String>,
    pub products: Vec<String>,
    /// Customer and order.
    pub orders: Vec<(String, String)>,
}

impl Client {
    /// One act, as the dice say.
    pub async fn act_in_shop(&mut self, role: Role) {
        if self.session.is_none() {
            return match role {
                Role::Staff | Role::Moderator => self.sign_in_staff().await,
                Role::Customer => self.sign_up_customer().await,
            };
        }
        if role == Role::Moderator {
            return self.act_as_moderator().await;
        }
        let weights = &self.world.phase().act_weights;
        let acts = if role == Role::Staff { &weights.staff } else { &weights.customers };
        match self.world.dice.weighted(acts) {
            "create category" => self.create_kind("productCategory").await,
            "create tag" => self.create_kind("productTag").await,
            "create product" => self.create_product().await,
            "rename category" => self.rename_kind("productCategory").await,
            "rename tag" => self.rename_kind("productTag").await,
            "update product" => self.update_product().await,
            "delete product" => self.delete_product().await,
            "order" => self.order().await,
            "cancel order" => self.settle_order("cancelSalesOrder", CANCELLED).await,
            "ship order" => self.settle_order("shipSalesOrder", SHIPPED).await,
            "delete order" => self.delete_order().await,
            "change address" => self.change_address().await,
            "read orders" => self.read_orders().await,
            "live query" => self.live_query(),
            "trespass" => self.trespass_in_shop().await,
            "sign out" => self.sign_out_customer().await,
            _ => self.read_product().await,
        }
    }

    async fn sign_in_staff(&mut self) {
        let query =
            "mutation($i: SignInInput!) { signIn(input: $i) { user { id } accessToken refreshToken } }";
        let input = json!({ "i": { "username": STAFF_NAME, "password": PASSWORD } });
        if let Answer::Data { data, .. } = self.ask(query, input).await {
            self.start(&data["signIn"], &data["signIn"]["user"]["id"]);
        }
    }

    fn start(&mut self, payload: &Value, id: &Value) -> Option<String> {
        let (id, token) = (id.as_str()?.to_owned(), payload["accessToken"].as_str()?.to_owned());
        let refresh_token = payload["refreshToken"].as_str().unwrap_or_default().to_owned();
        let number = self.world.begin_shop_session(&id);
        self.session = Some(Session::new((token, refresh_token), number, self.world.elapsed_ms()));
        Some(id)
    }

    async fn sign_up_customer(&mut self) {
        let world = self.world.clone();
        let (address, key) = (*world.dice.pick(&ADDRESSES), world.next("customer"));
        let start = world.history.now();
        let session = "customer { id } accessToken refreshToken";
        if world.dice.percent(40) {
            let query =
                format!("mutation($i: SignInCustomerInput!) {{ signInCustomer(input: $i) {{ {session} }} }}");
            let input = json!({ "i": { "emailAddress": address, "password": PASSWORD } });
            if let Answer::Data { data, .. } = self.ask(&query, input).await {
                let payload = &data["signInCustomer"];
                self.start(payload, &payload["customer"]["id"]);
            }
            return;
        }
        let query =
            format!("mutation($i: CreateCustomerInput!) {{ createCustomer(input: $i) {{ {session} }} }}");
        let input = json!({
            "firstName": "Eva", "lastName": "Stone", "emailAddress": address, "password": PASSWORD,
            "idempotencyKey": key,
        });
        let (answer, _) = self.command(&query, json!({ "i": input })).await;
        let Answer::Data { data, .. } = answer else { return };
        let payload = &data["createCustomer"];
        let Some(id) = self.start(payload, &payload["customer"]["id"]) else { return };
        world.history.created_by_key(&key, &id);
        let end = Some(world.history.now());
        let write = Write { value: address.to_lowercase(), client: self.number, start, end };
        world.history.written(&format!("name of {id}"), write);
    }

    /// Forgets a session that has ended.
    pub fn note(&mut self, answer: Answer) {
        if let Answer::Refused { code } = answer {
            self.drop_refused_session(&code);
        }
    }

    async fn change_address(&mut self) {
        let Some(me) = self.me() else { return };
        let address = *self.world.dice.pick(&ADDRESSES);
        let history = &self.world.clone().history;
        let write = history.begin(&format!("name of {me}"), &address.to_lowercase(), self.number);
        let query = "mutation($i: ChangeCustomerEmailAddressInput!) { changeCustomerEmailAddress(input: $i) { customer { id } } }";
        let input = json!({ "i": { "emailAddress": address, "currentPassword": PASSWORD } });
        let answer = self.command(query, input).await;
        let _ = self.end(&write, answer);
    }

    /// Signs out, sometimes on all devices, and uses the tokens of the ended sessions.
    async fn sign_out_customer(&mut self) {
        let (Some(session), Some(me)) = (self.session.clone(), self.me()) else { return };
        let world = self.world.clone();
        let everywhere = world.dice.percent(40);
        let sessions_before = world.users.lock().len();
        let query = "mutation($e: Boolean!) { signOutCustomer(everywhere: $e) { customerId } }";
        let Answer::Data { .. } = self.ask(query, json!({ "e": everywhere })).await else { return };
        let ended_ms = world.elapsed_ms();
        self.session = None;
        if everywhere {
            world.passwords.lock().end_sessions(&me, sessions_before, &world);
            world.count("customer signed out everywhere");
        }
        for _ in 0..world.dice.below(3) {
            tokio::time::sleep(Duration::from_millis(world.dice.below(40_000))).await;
            let late_ms = world.elapsed_ms() - ended_ms;
            let answer =
                self.ask_with(Some(session.token.clone()), "{ viewerCustomer { id } }", json!({})).await;
            if matches!(&answer, Answer::Data { data, .. } if data["viewerCustomer"]["id"].is_string()) {
                let session = format!("{} of customer {me}", session.number);
                world.history.used_late(LateUse { session, late_ms });
            }
        }
    }

    /// Tries to read an order of another customer, or to do as staff does.
    async fn trespass_in_shop(&mut self) {
        let Some(me) = self.me() else { return };
        let world = self.world.clone();
        let orders = self.known_orders(None);
        let foreign: Vec<_> = orders.into_iter().filter(|(customer, _)| *customer != me).collect();
        let products = world.catalogue.lock().products.clone();
        let (query, variables) = match world.dice.below(5) {
            0 | 1 if !foreign.is_empty() => {
                let (customer, order) = world.dice.pick(&foreign);
                let query = "query($o: ID!, $c: ID!) {
                    order: node(id: $o) { ... on SalesOrder { id } }
                    customer(id: $c) { id emailAddress }
                    both: nodes(ids: [$o, $c]) { id } }";
                (query, json!({ "o": order, "c": customer }))
            }
            2 if !foreign.is_empty() => {
                let (_, order) = world.dice.pick(&foreign);
                let query = "mutation($i: CancelSalesOrderInput!) { cancelSalesOrder(input: $i) { salesOrder { id } } }";
                (query, json!({ "i": { "salesOrderId": order } }))
            }
            3 if !products.is_empty() => {
                let query =
                    "mutation($i: UpdateProductInput!) { updateProduct(input: $i) { product { id } } }";
                let product = world.dice.pick(&products);
                (query, json!({ "i": { "productId": product, "name": "not mine", "isSoldOut": true } }))
            }
            _ => {
                let query = "mutation($i: CreateProductTagInput!) { createProductTag(input: $i) { productTag { id } } }";
                (query, json!({ "i": { "name": "not mine" } }))
            }
        };
        match self.ask(query, variables.clone()).await {
            Answer::Data { data, .. } if has_a_value(&data) => {
                let what = format!("{me} as a customer: {query} {variables}, {data}");
                world.history.broken("customers have their own orders alone", what);
            }
            Answer::Data { .. } => world.count("customer saw nothing of another one"),
            Answer::Refused { code } => {
                world.count("customer was refused");
                self.drop_refused_session(&code);
            }
            Answer::Unknown => {}
        }
    }
}

/// Whether an answer has anything but `null`.
fn has_a_value(data: &Value) -> bool {
    match data {
        Value::Null => false,
        Value::Array(values) => values.iter().any(has_a_value),
        Value::Object(fields) => fields.values().any(has_a_value),
        _ => true,
    }
}

impl Client {
    /// The writes that a decision of a command has to know: every answered write. A replica of an account may
    /// lag.
    pub fn decided_on(&self) -> Recent {
        if self.world.plan.is_embedded { Recent::All } else { Recent::Any }
    }
}
