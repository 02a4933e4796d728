//! Acts on the catalogue of the web store: categories, tags and products.

use serde_json::{Value, json};

use crate::blog::OTHER_DEVICE_PERCENT;
use crate::client::{Answer, Client};
use crate::history::{Begun, NOTHING, Recent, Write};

/// Few stock keeping units, so that clients compete for them.
const SKUS: [&str; 5] = ["SKU-1", "SKU-2", "sku-2", "SKU-3", "SKU-4"];
const CATEGORIES_MAX: usize = 2;
const TAGS_MAX: usize = 3;
/// The fields of a product that clients check.
pub const PRODUCT: &str = "id name price { amount } isSoldOut category { id name } tags { id name }";

impl Client {
    /// Creates a category or a tag.
    pub async fn create_kind(&mut self, kind: &str) {
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

    pub async fn rename_kind(&mut self, kind: &str) {
        let world = self.world.clone();
        let known = match kind {
            "productCategory" => world.catalogue.lock().categories.clone(),
            _ => world.catalogue.lock().tags.clone(),
        };
        if known.is_empty() {
            return;
        }
        let id = world.dice.pick(&known).clone();
        let register = format!("{kind} {id}");
        let capital = capitalised(kind);
        let query = format!(
            "mutation($i: Update{capital}Input!) {{ update{capital}(input: $i) {{ {kind} {{ id }} }} }}"
        );
        let names = self.changes_and_back(&register, || world.next(kind));
        for (place, name) in names.into_iter().enumerate() {
            self.wait_before(place).await;
            let mut other = self.other_device_elsewhere();
            let device = if world.dice.percent(OTHER_DEVICE_PERCENT) { &mut other } else { &mut *self };
            let write = world.history.begin(&register, &name, device.number);
            let input = json!({ format!("{kind}Id"): id, "name": name });
            let answer = device.command(&query, json!({ "i": input })).await;
            let _ = device.end(&write, answer);
        }
    }

    fn any_amount(&self) -> String {
        format!("{}.{:02}", self.world.dice.between(1, 400), self.world.dice.below(100))
    }

    pub async fn create_product(&mut self) {
        let world = self.world.clone();
        let (categories, tags) = {
            let catalogue = world.catalogue.lock();
            (catalogue.categories.clone(), catalogue.tags.clone())
        };
        if categories.is_empty() {
            return;
        }
        let (sku, name, amount) = (*world.dice.pick(&SKUS), world.next("product"), self.any_amount());
        let tags: Vec<String> = tags.into_iter().filter(|_| world.dice.percent(50)).collect();
        let start = world.history.now();
        let query = "mutation($i: CreateProductInput!) { createProduct(input: $i) { product { id } } }";
        let input = json!({
            "sku": sku, "name": name, "description": "A product.", "categoryId": world.dice.pick(&categories),
            "price": { "amount": amount, "currencyCode": "EUR" }, "tagIds": tags,
        });
        let answer = self.ask(query, json!({ "i": input })).await;
        let Answer::Data { data, .. } = answer else { return self.note(answer) };
        let Some(id) = data["createProduct"]["product"]["id"].as_str() else { return };
        let end = Some(world.history.now());
        let write = |value: String| Write { value, client: self.number, start, end };
        world.history.written(&format!("name of {id}"), write(sku.to_uppercase()));
        for (register, value) in [
            (format!("product {id}"), name),
            (price_of_product(id), amount),
            (sold_out(id), false.to_string()),
        ] {
            world.history.set_first(&register, NOTHING);
            world.history.written(&register, write(value));
        }
        world.catalogue.lock().products.push(id.to_owned());
    }

    pub fn any_product(&self) -> Option<String> {
        let catalogue = self.world.catalogue.lock();
        (!catalogue.products.is_empty()).then(|| self.world.dice.pick(&catalogue.products).clone())
    }

    /// Changes the name, the price or the availability of a product, or several of them at once.
    pub async fn update_product(&mut self) {
        let Some(id) = self.any_product() else { return };
        let world = self.world.clone();
        let mut input = json!({ "productId": id });
        let mut writes = Vec::new();
        let mut write = |register: &str, value: &str| {
            writes.push(world.history.begin(register, value, self.number));
        };
        if world.dice.percent(60) {
            let name = world.next("product");
            write(&format!("product {id}"), &name);
            input["name"] = json!(name);
        }
        if world.dice.percent(50) {
            let amount = self.any_amount();
            write(&price_of_product(&id), &amount);
            input["price"] = json!({ "amount": amount, "currencyCode": "EUR" });
        }
        if world.dice.percent(30) {
            let is_sold_out = world.dice.percent(50);
            write(&sold_out(&id), &is_sold_out.to_string());
            input["isSoldOut"] = json!(is_sold_out);
        }
        let query = "mutation($i: UpdateProductInput!) { updateProduct(input: $i) { product { id } } }";
        if writes.is_empty() {
            return;
        }
        let answer = self.command(query, json!({ "i": input })).await;
        self.end_all(&writes, answer);
    }

    pub async fn delete_product(&mut self) {
        let Some(id) = self.any_product() else { return };
        let history = &self.world.clone().history;
        let registers =
            [format!("product {id}"), format!("name of {id}"), price_of_product(&id), sold_out(&id)];
        let writes = registers.map(|register| history.begin(&register, NOTHING, self.number));
        let query = "mutation($i: DeleteProductInput!) { deleteProduct(input: $i) { deletedProductId } }";
        let answer = self.command(query, json!({ "i": { "productId": id } })).await;
        self.end_all(&writes, answer);
    }

    /// Ends the writes of a command to several registers. Returns the code of a refusal.
    pub fn end_all(&mut self, writes: &[Begun], answer: (Answer, bool)) -> Option<String> {
        let (first, others) = writes.split_first()?;
        let is_repeated = answer.1;
        let ended = self.end(first, answer);
        let history = &self.world.history;
        for write in others {
            if ended.is_ok() && is_repeated {
                history.repeated(write);
            }
            if ended.is_ok() {
                history.done(write);
            } else if history.is_refused(first) {
                history.refused(write);
            }
        }
        ended.err().flatten()
    }

    pub async fn read_product(&mut self) {
        let Some(id) = self.any_product() else { return };
        let start = self.world.history.now();
        let query = format!("query($id: ID!) {{ product(id: $id) {{ {PRODUCT} }} }}");
        let Answer::Data { data, reached } = self.ask(&query, json!({ "id": id })).await else { return };
        let recent = self.recent(reached);
        let product = &data["product"];
        for (register, value) in values_of_product(&id, product) {
            self.saw("product", &register, &value, recent, start);
        }
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

/// The registers of a product with the values of an answer.
pub fn values_of_product(id: &str, product: &Value) -> [(String, String); 3] {
    let value = |value: Option<String>| value.unwrap_or_else(|| NOTHING.to_owned());
    [
        (format!("product {id}"), value(product["name"].as_str().map(str::to_owned))),
        (price_of_product(id), value(product["price"]["amount"].as_str().map(str::to_owned))),
        (sold_out(id), value(product["isSoldOut"].as_bool().map(|is_sold_out| is_sold_out.to_string()))),
    ]
}

/// The register of the price of a product, in the amounts of answers.
pub fn price_of_product(id: &str) -> String {
    format!("price of {id}")
}

/// The register that says whether a product is sold out.
pub fn sold_out(id: &str) -> String {
    format!("sold out {id}")
}

pub fn capitalised(kind: &str) -> String {
    format!("{}{}", kind[..1].to_uppercase(), &kind[1..])
}
