//! Orders of customers: placed, cancelled, shipped, deleted and read.

use serde_json::{Value, json};

use crate::catalogue::{capitalised, price_of_product, sold_out};
use crate::client::{Answer, Client};
use crate::history::{Count, NOTHING, Recent, Write};
use crate::world::World;

/// States of an order.
const OPEN: &str = "open";
pub const CANCELLED: &str = "cancelled";
pub const SHIPPED: &str = "shipped";
/// The most lines of an order of a client.
const LINES_MAX: u64 = 3;
/// Orders that are read with their lines. More in one request are too complex.
pub const NEWEST: u64 = 5;
/// The fields of an order that never change.
const ORDERED: &str =
    "lines { sku name quantity price { amount } total { amount } } total { amount } shippingAddress { city }";
/// The fields of an order that clients check.
pub const ORDER: &str = "id shipDate cancelDate lines { sku name quantity price { amount } total { amount } } \
    total { amount } shippingAddress { city }";

impl Client {
    pub async fn order(&mut self) {
        let (Some(me), Some(_)) = (self.me(), self.any_product()) else { return };
        let world = self.world.clone();
        let key = world.next("order");
        let lines: Vec<(String, u64)> = (0..world.dice.between(1, LINES_MAX))
            .filter_map(|_| Some((self.any_product()?, world.dice.between(1, 9))))
            .collect();
        let city = world.dice.percent(50).then(|| world.next("city"));
        let address = city.as_ref().map(|city| {
            json!({ "addressLine1": "1 Mill Lane", "city": city, "country": "Norway", "zipCode": "0150" })
        });
        let input = json!({
            "lines": lines.iter().map(|(product, quantity)| json!({ "productId": product, "quantity": quantity }))
                .collect::<Vec<_>>(),
            "shippingAddress": address, "idempotencyKey": key,
        });
        let query = format!(
            "mutation($i: CreateSalesOrderInput!) {{ createSalesOrder(input: $i) {{ \
             salesOrder {{ id {ORDERED} }} customer {{ salesOrderCount }} }} }}"
        );
        let start = world.history.now();
        let (answer, _) = self.command(&query, json!({ "i": input.clone() })).await;
        let data = match answer {
            Answer::Data { data, .. } => data,
            Answer::Refused { code } => {
                self.order_was_refused(&code, &lines, start);
                return self.drop_refused_session(&code);
            }
            Answer::Unknown => return,
        };
        let order = &data["createSalesOrder"]["salesOrder"];
        let Some(id) = order["id"].as_str() else { return };
        let end = world.history.now();
        world.history.created_by_key(&key, id);
        let register = format!("order of {me}: {id}");
        world.history.set_first(&register, NOTHING);
        let write = Write { value: "1".to_owned(), client: self.number, start, end: Some(end) };
        world.history.written(&register, write);
        world.history.set_first(&state_of_order(id), OPEN);
        self.placed(order, &lines, city.as_deref(), start);
        world.catalogue.lock().orders.push((me, id.to_owned()));
        let lines = json!([{ "productId": lines[0].0, "quantity": 10 }]);
        self.use_key_again(&query, input, ("lines", lines)).await;
    }

    /// Checks a new order: names and prices of its products at that moment, their sum, and its address.
    fn placed(&self, order: &Value, lines: &[(String, u64)], city: Option<&str>, start: u64) {
        let id = order["id"].as_str().unwrap_or_default();
        let recent = self.decided_on();
        let placed = order["lines"].as_array().map_or(&[][..], Vec::as_slice);
        let mut sum = 0;
        for ((product, quantity), line) in lines.iter().zip(placed) {
            let price = line["price"]["amount"].as_str().unwrap_or_default();
            let name = line["name"].as_str().unwrap_or_default();
            self.saw("order", &format!("product {product}"), name, recent, start);
            self.saw("order", &price_of_product(product), price, recent, start);
            self.saw("order", &sold_out(product), "false", recent, start);
            let total = cents(&line["price"]) * quantity;
            sum += total;
            if line["quantity"] != *quantity || cents(&line["total"]) != total {
                self.world.history.broken("an order is the sum of its lines", order.to_string());
            }
        }
        if placed.len() != lines.len() || cents(&order["total"]) != sum {
            self.world.history.broken("an order is the sum of its lines", order.to_string());
        }
        if order["shippingAddress"]["city"].as_str() != city {
            self.world.history.broken("an order goes to its address", order.to_string());
        }
        self.world.history.set_first(&placed_order(id), &ordered(order));
    }

    /// Checks a refusal for an order of one product: it was sold out, or deleted.
    fn order_was_refused(&self, code: &str, lines: &[(String, u64)], start: u64) {
        let [(product, _)] = lines else { return };
        let recent = self.decided_on();
        match code {
            "CONFLICT" => {
                self.world.count("order of a product that is sold out");
                self.saw("refused order", &sold_out(product), "true", recent, start);
            }
            "NOT_FOUND" => {
                self.saw("refused order", &format!("product {product}"), NOTHING, recent, start);
            }
            _ => {}
        }
    }

    /// Orders in the clients' knowledge: of one customer, or of all customers.
    pub fn known_orders(&self, of: Option<&str>) -> Vec<(String, String)> {
        let catalogue = self.world.catalogue.lock();
        let is_wanted = |(customer, _): &&(String, String)| of.is_none_or(|of| of == customer);
        catalogue.orders.iter().filter(is_wanted).cloned().collect()
    }

    /// Cancels an order as its customer, or ships it as staff. It is never both.
    pub async fn settle_order(&mut self, mutation: &str, state: &str) {
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
                let _ = state_in(&self.world, &data[mutation]["salesOrder"]);
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

    pub async fn delete_order(&mut self) {
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

    pub async fn read_orders(&mut self) {
        let Some(me) = self.me() else { return };
        let known = self.known_orders(Some(&me));
        let start = self.world.history.now();
        let query = format!(
            "{{ viewerCustomer {{ salesOrderCount salesOrders(first: 100) {{ nodes {{ id shipDate cancelDate }} }} \
             newest: salesOrders(first: {NEWEST}) {{ nodes {{ {ORDER} }} }} }} }}"
        );
        let Answer::Data { data, reached } = self.ask(&query, json!({})).await else { return };
        let Some(nodes) = data["viewerCustomer"]["salesOrders"]["nodes"].as_array() else { return };
        // Older orders are on further pages.
        if nodes.len() == 100 {
            return;
        }
        let recent = self.recent(reached);
        for order in data["viewerCustomer"]["newest"]["nodes"].as_array().into_iter().flatten() {
            if let Some((_, id)) = known.iter().find(|(_, id)| order["id"] == id.as_str()) {
                self.saw("orders of a customer", &placed_order(id), &ordered(order), Recent::Any, start);
            }
        }
        let of_others = self.known_orders(None).into_iter().filter(|(customer, _)| *customer != me);
        for (customer, id) in of_others {
            if nodes.iter().any(|node| node["id"] == id.as_str()) {
                let what = format!("{me} has the order {id} of {customer}");
                self.world.history.broken("customers have their own orders alone", what);
            }
        }
        for (_, id) in known {
            let listed = nodes.iter().find(|node| node["id"] == id.as_str());
            if let Some(order) = listed {
                let state = state_in(&self.world, order);
                self.saw("orders of a customer", &state_of_order(&id), state, recent, start);
            }
            let value = if listed.is_some() { "1" } else { NOTHING };
            self.saw("orders of a customer", &format!("order of {me}: {id}"), value, recent, start);
        }
    }
}

/// The state of an order as an answer shows it.
pub fn state_in(world: &World, order: &Value) -> &'static str {
    match (order["shipDate"].is_string(), order["cancelDate"].is_string()) {
        (false, false) => OPEN,
        (true, false) => SHIPPED,
        (false, true) => CANCELLED,
        (true, true) => {
            world.history.broken("no order is shipped and cancelled", order.to_string());
            CANCELLED
        }
    }
}

/// The count of all orders of a customer in an answer.
pub fn count_of_orders(customer: &str, count: u64, (start, end): (u64, u64)) -> Count {
    Count { prefix: format!("order of {customer}: "), value: "1", count, start, end }
}

/// The register of the state of an order.
pub fn state_of_order(id: &str) -> String {
    format!("state of order {id}")
}

/// The register of the lines and the address of an order. It keeps its first value.
pub fn placed_order(id: &str) -> String {
    format!("placed order {id}")
}

/// The lines and the address of an order in an answer.
pub fn ordered(order: &Value) -> String {
    json!([order["lines"], order["total"], order["shippingAddress"]]).to_string()
}

/// An amount of a currency with two decimals, in cents.
fn cents(money: &Value) -> u64 {
    let amount = money["amount"].as_str().unwrap_or_default();
    amount.replace('.', "").parse().unwrap_or_default()
}
