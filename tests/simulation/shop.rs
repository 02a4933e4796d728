//! Acts of clients in the web store: the catalogue by a member of staff, and orders by customers.

use serde_json::{Value, json};

use crate::blog::PASSWORD;
use crate::client::{Answer, Client, Session};
use crate::history::{Begun, Count, NOTHING, Recent, Write};
use crate::process::STAFF_NAME;

/// Few addresses and stock keeping units, so that clients compete for them.
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
const SKUS: [&str; 5] = ["SKU-1", "SKU-2", "sku-2", "SKU-3", "SKU-4"];
/// States of an order.
const OPEN: &str = "open";
const CANCELLED: &str = "cancelled";
const SHIPPED: &str = "shipped";
const CATEGORIES_MAX: usize = 2;
const TAGS_MAX: usize = 3;

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
        let weights = &self.world.plan.act_weights;
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
        self.session = Some(Session { token, refresh_token, number });
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

    /// Creates a category or a tag.
    async fn create_kind(&mut self, kind: &str) {
        let world = self.world.clone();
        let (known, most) = match kind {
            "productCategory" => (world.catalogue.lock().categories.len(), CATEGORIES_MAX),
            _ => (world.catalogue.lock().tags.len(), TAGS_MAX),
        };
        if known >= most {
            return;
        }
        let name = world.next(kind);
        let start = world.history.now();
        let capital = capitalised(kind);
        let query = format!(
            "mutation($i: Create{capital}Input!) {{ create{capital}(input: $i) {{ {kind} {{ id }} }} }}"
        );
        let answer = self.ask(&query, json!({ "i": { "name": name } })).await;
        let Answer::Data { data, .. } = answer else { return self.note(answer) };
        let Some(id) = data[format!("create{capital}")][kind]["id"].as_str() else { return };
        let end = Some(world.history.now());
        let write = Write { value: name, client: self.number, start, end };
        world.history.written(&format!("{kind} {id}"), write);
        let mut catalogue = world.catalogue.lock();
        match kind {
            "productCategory" => catalogue.categories.push(id.to_owned()),
            _ => catalogue.tags.push(id.to_owned()),
        }
    }

    fn note(&mut self, answer: Answer) {
        if let Answer::Refused { code } = answer {
            self.drop_refused_session(&code);
        }
    }

    async fn rename_kind(&mut self, kind: &str) {
        let world = self.world.clone();
        let known = match kind {
            "productCategory" => world.catalogue.lock().categories.clone(),
            _ => world.catalogue.lock().tags.clone(),
        };
        if known.is_empty() {
            return;
        }
        let (id, name) = (world.dice.pick(&known).clone(), world.next(kind));
        let write = world.history.begin(&format!("{kind} {id}"), &name, self.number);
        let capital = capitalised(kind);
        let query = format!(
            "mutation($i: Update{capital}Input!) {{ update{capital}(input: $i) {{ {kind} {{ id }} }} }}"
        );
        let answer = self.command(&query, json!({ "i": { format!("{kind}Id"): id, "name": name } })).await;
        let _ = self.end(&write, answer);
    }

    async fn create_product(&mut self) {
        let world = self.world.clone();
        let (categories, tags) = {
            let catalogue = world.catalogue.lock();
            (catalogue.categories.clone(), catalogue.tags.clone())
        };
        if categories.is_empty() {
            return;
        }
        let (sku, name) = (*world.dice.pick(&SKUS), world.next("product"));
        let tags: Vec<String> = tags.into_iter().filter(|_| world.dice.percent(50)).collect();
        let start = world.history.now();
        let query = "mutation($i: CreateProductInput!) { createProduct(input: $i) { product { id } } }";
        let input = json!({
            "sku": sku, "name": name, "description": "A product.", "categoryId": world.dice.pick(&categories),
            "price": { "amount": "4.99", "currencyCode": "EUR" }, "tagIds": tags,
        });
        let answer = self.ask(query, json!({ "i": input })).await;
        let Answer::Data { data, .. } = answer else { return self.note(answer) };
        let Some(id) = data["createProduct"]["product"]["id"].as_str() else { return };
        let end = Some(world.history.now());
        let write = |value: String| Write { value, client: self.number, start, end };
        world.history.written(&format!("name of {id}"), write(sku.to_uppercase()));
        world.history.set_first(&format!("product {id}"), NOTHING);
        world.history.written(&format!("product {id}"), write(name));
        world.catalogue.lock().products.push(id.to_owned());
    }

    fn any_product(&self) -> Option<String> {
        let catalogue = self.world.catalogue.lock();
        (!catalogue.products.is_empty()).then(|| self.world.dice.pick(&catalogue.products).clone())
    }

    async fn update_product(&mut self) {
        let Some(id) = self.any_product() else { return };
        let world = self.world.clone();
        let name = world.next("product");
        let write = world.history.begin(&format!("product {id}"), &name, self.number);
        let query = "mutation($i: UpdateProductInput!) { updateProduct(input: $i) { product { id } } }";
        let answer = self.command(query, json!({ "i": { "productId": id, "name": name } })).await;
        let _ = self.end(&write, answer);
    }

    async fn delete_product(&mut self) {
        let Some(id) = self.any_product() else { return };
        let history = &self.world.clone().history;
        let released = history.begin(&format!("name of {id}"), NOTHING, self.number);
        let write = history.begin(&format!("product {id}"), NOTHING, self.number);
        let query = "mutation($i: DeleteProductInput!) { deleteProduct(input: $i) { deletedProductId } }";
        let answer = self.command(query, json!({ "i": { "productId": id } })).await;
        self.end_both(&write, &released, answer);
    }

    /// Ends the write of a register, and the write of a name which goes with it. A name that is given up is
    /// no name that is taken.
    fn end_both(&mut self, write: &Begun, name: &Begun, answer: (Answer, bool)) {
        let is_done = self.end(write, answer).is_ok();
        if !is_done && self.world.history.is_refused(write) {
            self.world.history.refused(name);
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

    async fn order(&mut self) {
        let (Some(me), Some(product)) = (self.me(), self.any_product()) else { return };
        let world = self.world.clone();
        let key = world.next("order");
        let start = world.history.now();
        let query = "mutation($i: CreateSalesOrderInput!) {
            createSalesOrder(input: $i) { salesOrder { id } customer { salesOrderCount } } }";
        let input = json!({ "lines": [{ "productId": product, "quantity": 1 }], "idempotencyKey": key });
        let (answer, _) = self.command(query, json!({ "i": input })).await;
        let Answer::Data { data, .. } = answer else { return self.note(answer) };
        let placed = &data["createSalesOrder"];
        let Some(id) = placed["salesOrder"]["id"].as_str() else { return };
        let end = world.history.now();
        world.history.created_by_key(&key, id);
        let register = format!("order of {me}: {id}");
        world.history.set_first(&register, NOTHING);
        let write = Write { value: "1".to_owned(), client: self.number, start, end: Some(end) };
        world.history.written(&register, write);
        world.history.set_first(&state_of_order(id), OPEN);
        world.catalogue.lock().orders.push((me, id.to_owned()));
    }

    /// Orders in the clients' knowledge: of one customer, or of all customers.
    fn known_orders(&self, of: Option<&str>) -> Vec<(String, String)> {
        let catalogue = self.world.catalogue.lock();
        let is_wanted = |(customer, _): &&(String, String)| of.is_none_or(|of| of == customer);
        catalogue.orders.iter().filter(is_wanted).cloned().collect()
    }

    /// Cancels an order as its customer, or ships it as staff. It is never both.
    async fn settle_order(&mut self, mutation: &str, state: &str) {
        let Some(me) = self.me() else { return };
        let orders = self.known_orders(Some(me.as_str()).filter(|_| state == CANCELLED));
        if orders.is_empty() {
            return;
        }
        let world = self.world.clone();
        let (customer, id) = world.dice.pick(&orders).clone();
        let register = state_of_order(&id);
        let write = world.history.begin(&register, state, self.number);
        let query = format!(
            "mutation($i: {}Input!) {{ {mutation}(input: $i) {{ salesOrder {{ id shipDate cancelDate }} }} }}",
            capitalised(mutation)
        );
        let start = world.history.now();
        let answer = self.command(&query, json!({ "i": { "salesOrderId": id } })).await;
        match self.end(&write, answer) {
            Ok(data) => {
                self.state_in(&data[mutation]["salesOrder"]);
            }
            Err(Some(code)) if code == "CONFLICT" => {
                let other = if state == SHIPPED { CANCELLED } else { SHIPPED };
                self.saw("command", &register, other, Recent::All, start);
                world.count("order that was settled before");
            }
            Err(Some(code)) if code == "NOT_FOUND" => {
                self.saw("command", &format!("order of {customer}: {id}"), NOTHING, Recent::All, start);
            }
            Err(_) => {}
        }
    }

    /// The state of an order as an answer shows it.
    fn state_in(&self, order: &Value) -> &'static str {
        match (order["shipDate"].is_string(), order["cancelDate"].is_string()) {
            (false, false) => OPEN,
            (true, false) => SHIPPED,
            (false, true) => CANCELLED,
            (true, true) => {
                self.world.history.broken("no order is shipped and cancelled", order.to_string());
                CANCELLED
            }
        }
    }

    async fn delete_order(&mut self) {
        let Some(me) = self.me() else { return };
        let world = self.world.clone();
        let own = self.known_orders(Some(&me));
        if own.is_empty() {
            return;
        }
        let (_, id) = world.dice.pick(&own).clone();
        let register = format!("order of {me}: {id}");
        let write = world.history.begin(&register, NOTHING, self.number);
        let query = "mutation($i: DeleteSalesOrderInput!) { deleteSalesOrder(input: $i) { customer { salesOrderCount } } }";
        let start = world.history.now();
        let answer = self.command(query, json!({ "i": { "salesOrderId": id } })).await;
        if self.end(&write, answer) == Err(Some("NOT_FOUND".to_owned())) {
            self.saw("command", &register, NOTHING, Recent::All, start);
        }
    }

    async fn read_orders(&mut self) {
        let Some(me) = self.me() else { return };
        let known = self.known_orders(Some(&me));
        let start = self.world.history.now();
        let query = "{ viewerCustomer { salesOrderCount salesOrders(first: 100) { nodes { id shipDate cancelDate } } } }";
        let Answer::Data { data, reached } = self.ask(query, json!({})).await else { return };
        let Some(nodes) = data["viewerCustomer"]["salesOrders"]["nodes"].as_array() else { return };
        // Older orders are on further pages.
        if nodes.len() == 100 {
            return;
        }
        let recent = self.recent(reached);
        for (_, id) in known {
            let listed = nodes.iter().find(|node| node["id"] == id.as_str());
            if let Some(order) = listed {
                let state = self.state_in(order);
                self.saw("orders of a customer", &state_of_order(&id), state, recent, start);
            }
            let value = if listed.is_some() { "1" } else { NOTHING };
            self.saw("orders of a customer", &format!("order of {me}: {id}"), value, recent, start);
        }
    }

    async fn read_product(&mut self) {
        let Some(id) = self.any_product() else { return };
        let start = self.world.history.now();
        let query = "query($id: ID!) { product(id: $id) { id name category { id name } tags { id name } } }";
        let Answer::Data { data, reached } = self.ask(query, json!({ "id": id })).await else { return };
        let recent = self.recent(reached);
        let product = &data["product"];
        self.saw(
            "product",
            &format!("product {id}"),
            product["name"].as_str().unwrap_or(NOTHING),
            recent,
            start,
        );
        let category = std::iter::once((&product["category"], "productCategory"));
        let tags = product["tags"].as_array().into_iter().flatten().map(|tag| (tag, "productTag"));
        for (kind, name) in category.chain(tags) {
            if let (Some(id), Some(value)) = (kind["id"].as_str(), kind["name"].as_str()) {
                let view = format!("name in product {}", product["id"]);
                self.saw(&view, &format!("{name} {id}"), value, Recent::Any, start);
            }
        }
    }
}

/// The count of all orders of a customer in an answer.
pub fn count_of_orders(customer: &str, count: u64, (start, end): (u64, u64)) -> Count {
    Count { prefix: format!("order of {customer}: "), value: "1", count, start, end }
}

/// The register of the state of an order.
fn state_of_order(id: &str) -> String {
    format!("state of order {id}")
}

fn capitalised(kind: &str) -> String {
    format!("{}{}", kind[..1].to_uppercase(), &kind[1..])
}
