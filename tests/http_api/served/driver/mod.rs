//! Driver of any served model: signs people up, creates, changes and deletes items through the generated API
//! with generated inputs, and then compares every list, reference and count with the items themselves. It
//! knows nothing of a model but its declaration.

mod expectations;
mod inputs;
mod lists;
mod live;
mod mutations;
mod plans;
mod selections;
mod targets;

use std::collections::BTreeMap;
use std::sync::Arc;

use onehop::served::{ServedModel, TypeIndex, mutation_name};
use onehop_model::{Action, FieldKind, QueryKind};
use serde_json::{Map, Value, json};

use self::inputs::{Generated, Inputs};
pub use self::plans::PlannedAnswers;
use self::selections::Selections;
use super::server::{PASSWORD, ServedServer, served_model};

/// The steps between two looks at live queries.
const LIVE_STEPS: usize = 12;
/// The accounts that act.
const ACCOUNTS: usize = 2;

/// An item that the driver has created.
#[derive(Debug, Clone)]
pub(super) struct Driven {
    ty: TypeIndex,
    id: String,
    /// The account that created it.
    account: usize,
    /// The values of its last inputs.
    values: Map<String, Value>,
    /// The ids of its references, by field; also of references in embedded objects.
    references: BTreeMap<String, Vec<String>>,
}

/// An account: its access token and its item.
#[derive(Debug, Clone)]
struct Account {
    token: String,
    id: String,
}

/// A model under test, with everything that was created in it.
pub struct Driver {
    name: String,
    server: ServedServer,
    model: Arc<ServedModel>,
    inputs: Inputs,
    accounts: Vec<Account>,
    items: Vec<Driven>,
}

impl Driver {
    /// Serves a model, and signs people up.
    pub async fn start(name: &str, text: &str, seed: u64) -> Self {
        let model = served_model(text);
        let server = ServedServer::start(text).await;
        let mut driver = Self {
            name: name.to_owned(),
            server,
            inputs: Inputs::new(seed),
            model,
            accounts: Vec::new(),
            items: Vec::new(),
        };
        for _ in 0..ACCOUNTS {
            driver.sign_up().await;
        }
        driver
    }

    /// Creates, changes and deletes items at random.
    pub async fn act(&mut self, steps: usize) {
        self.check_introspection().await;
        let mut live = self.follow().await;
        for step in 0..steps {
            if step % LIVE_STEPS == LIVE_STEPS - 1 {
                self.check_live(&mut live).await;
            }
            match self.inputs.below(10) {
                0..=4 => self.create().await,
                5 => self.update_by_name().await,
                6..=8 => self.update().await,
                _ => self.delete().await,
            }
        }
    }

    /// Creates items at random, and brings the read models up to them.
    pub async fn create_many(&mut self, steps: usize) {
        for _ in 0..steps {
            self.create().await;
        }
        self.server.settle().await;
    }

    /// Compares every answer with the items, and the stored data with the rules.
    pub async fn check(&self) {
        self.server.settle().await;
        let nodes = self.nodes().await;
        self.check_lists(&nodes).await;
        self.check_targets().await;
        let report = self.server.app.verify(false).await.unwrap();
        assert!(report.is_clean(), "{}: {:#?}", self.name, report.drifts);
    }

    /// The number of items that are there.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    fn token(&self, account: usize) -> Option<&str> {
        self.accounts.get(account).map(|account| account.token.as_str())
    }

    /// The data of a request that has to succeed.
    async fn data(&self, account: usize, query: &str, variables: Value) -> Value {
        match self.attempt(account, query, variables.clone()).await {
            Ok(data) => data,
            Err(code) => panic!("{}: {code}\n{query}\n{variables:#}", self.name),
        }
    }

    /// The data of a request, or the code of its refusal.
    async fn attempt(&self, account: usize, query: &str, variables: Value) -> Result<Value, String> {
        let mut response = self.server.send(self.token(account), query, variables.clone()).await;
        let Some(errors) = response.get("errors") else { return Ok(response["data"].take()) };
        let code = errors[0]["extensions"]["code"].as_str().unwrap_or_default();
        assert_ne!(code, "INTERNAL", "{}: {errors:#}\n{query}\n{variables:#}", self.name);
        Err(if code == "CONFLICT" { code.to_owned() } else { format!("{errors:#}") })
    }

    async fn sign_up(&mut self) {
        let Some(ty) = self.model.account() else { return };
        let (name, camel) = (self.model.ty(ty).name, self.model.ty(ty).item.name.camel_case());
        let generated = self.inputs.of(&self.model, ty, None, &self.items);
        let Generated { mut input, references, .. } = generated.expect("an account needs no reference");
        input.insert("password".to_owned(), json!(PASSWORD));
        let query = format!(
            "mutation($input: Create{name}Input!) {{ create{name}(input: $input) {{ accessToken {camel} {{ id }} }} }}"
        );
        let data = self.data(usize::MAX, &query, json!({ "input": input.clone() })).await;
        input.remove("password");
        let payload = &data[format!("create{name}")];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let account = Account { token: text(&payload["accessToken"]), id: text(&payload[&*camel]["id"]) };
        let (id, account_number) = (account.id.clone(), self.accounts.len());
        self.accounts.push(account);
        self.items.push(Driven { ty, id, account: account_number, values: input, references });
    }

    /// One of the items of which this is true.
    fn place_of_one(&mut self, is_wanted: impl Fn(&Driven) -> bool) -> Option<usize> {
        let wanted = self.items.iter().enumerate().filter(|(_, item)| is_wanted(item));
        let places: Vec<usize> = wanted.map(|(place, _)| place).collect();
        (!places.is_empty()).then(|| places[self.inputs.below(places.len())])
    }

    /// A type with this generated mutation.
    fn type_with(&mut self, action: Action) -> Option<TypeIndex> {
        let types: Vec<_> =
            self.model.types().filter(|(_, ty)| ty.writes(action)).map(|(ty, _)| ty).collect();
        (!types.is_empty()).then(|| types[self.inputs.below(types.len())])
    }

    async fn create(&mut self) {
        let Some(mut ty) = self.type_with(Action::Create) else { return };
        // Targets of references come first.
        while let Some(missing) = self.inputs.missing_target(&self.model, ty, &self.items) {
            ty = missing;
        }
        // The partition key of the caller's item is one of the values.
        let follows_caller = self.model.ty(ty).item.fields.iter().any(|field| match &field.kind {
            FieldKind::Reference(reference) => reference.caller && !reference.partition.is_empty(),
            _ => false,
        });
        let chosen = follows_caller.then(|| self.inputs.below(ACCOUNTS));
        let caller = chosen.and_then(|account| self.accounts.get(account));
        let caller = caller.and_then(|caller| self.items.iter().find(|item| item.id == caller.id));
        let Some(generated) = self.inputs.of(&self.model, ty, caller, &self.items) else { return };
        let account = chosen.unwrap_or_else(|| self.inputs.below(ACCOUNTS));
        self.check_refusals(ty, account, &generated).await;
        let Generated { input, values, mut references, .. } = generated;
        let (name, camel) = (self.model.ty(ty).name, self.model.ty(ty).item.name.camel_case());
        let selection = Selections(&self.model).of_inputs(ty);
        let mutation = mutation_name(Action::Create, name);
        let query = format!(
            "mutation($input: Create{name}Input!) {{ {mutation}(input: $input) {{ {camel} {{ id {selection} }} }} }}"
        );
        let created = match self.attempt(account, &query, json!({ "input": input })).await {
            Ok(mut data) => data[&mutation][&*camel].take(),
            // A taken value, or an item whose id is derived from these fields.
            Err(code) if code == "CONFLICT" => return,
            Err(errors) => panic!("{}: {errors}\n{query}\n{input:#?}", self.name),
        };
        self.compare_values(&values, &created);
        for field in &self.model.ty(ty).item.fields {
            if let FieldKind::Reference(reference) = &field.kind
                && reference.caller
            {
                references.insert(field.name.to_string(), vec![self.accounts[account].id.clone()]);
            }
        }
        let id = created["id"].as_str().expect("an id").to_owned();
        self.items.push(Driven { ty, id, account, values, references });
    }

    async fn update(&mut self) {
        let model = Arc::clone(&self.model);
        let is_updated = |item: &Driven| model.ty(item.ty).writes(Action::Update);
        let Some(place) = self.place_of_one(is_updated) else { return };
        let item = self.items[place].clone();
        let ty = model.ty(item.ty);
        let Some(generated) = self.inputs.change(&self.model, &item, &self.items) else { return };
        let Generated { mut input, values, references, .. } = generated;
        input.insert(ty.id_input.to_owned(), json!(item.id));
        let (name, camel) = (ty.name, ty.item.name.camel_case());
        let selection = Selections(&self.model).of_inputs(item.ty);
        let mutation = mutation_name(Action::Update, name);
        let query = format!(
            "mutation($input: Update{name}Input!) {{ {mutation}(input: $input) {{ {camel} {{ id {selection} }} }} }}"
        );
        let changed = match self.attempt(item.account, &query, json!({ "input": input })).await {
            Ok(mut data) => data[&mutation][&*camel].take(),
            Err(code) if code == "CONFLICT" => return,
            Err(errors) => panic!("{}: {errors}\n{query}\n{input:#?}", self.name),
        };
        self.compare_values(&values, &changed);
        let item = &mut self.items[place];
        item.values.extend(values);
        // Parts of the key of a new target are filled from it.
        for name in references.keys() {
            let kind = ty.item.field(name).map(|field| &field.kind);
            let Some(FieldKind::Reference(reference)) = kind else { continue };
            for by in &reference.partition {
                item.values.extend(changed.get(&**by).map(|value| (by.to_string(), value.clone())));
            }
        }
        item.references.extend(references);
    }

    async fn delete(&mut self) {
        let model = Arc::clone(&self.model);
        // The accounts of the driver stay.
        let is_deleted =
            |item: &Driven| model.ty(item.ty).writes(Action::Delete) && model.account() != Some(item.ty);
        let Some(place) = self.place_of_one(is_deleted) else { return };
        let item = self.items[place].clone();
        // An item that others show stays; items that it owns follow it.
        let family = self.family(&item.id);
        let is_shown = |other: &Driven| {
            !family.contains(&other.id)
                && other.references.values().flatten().any(|target| family.contains(target))
        };
        if self.items.iter().any(is_shown) {
            return;
        }
        let ty = self.model.ty(item.ty);
        let (name, mutation) = (ty.name, mutation_name(Action::Delete, ty.name));
        let query = format!(
            "mutation($input: Delete{name}Input!) {{ {mutation}(input: $input) {{ deleted{name}Id }} }}"
        );
        let input = json!({ ty.id_input: item.id });
        let data = self.data(item.account, &query, json!({ "input": input })).await;
        assert_eq!(data[&mutation][format!("deleted{name}Id")], item.id.as_str(), "{}", self.name);
        self.items.retain(|item| !family.contains(&item.id));
        self.server.settle().await;
    }

    /// An item and the items that it owns.
    fn family(&self, id: &str) -> Vec<String> {
        let mut family = vec![id.to_owned()];
        let mut place = 0;
        while place < family.len() {
            let owner = family[place].clone();
            let is_owned = |item: &&Driven| {
                let by = self.model.ty(item.ty).item.owned_by.as_ref();
                by.and_then(|by| item.references.get(&**by)).is_some_and(|ids| ids.contains(&owner))
            };
            let owned = self.items.iter().filter(is_owned).map(|item| item.id.clone());
            let owned: Vec<_> = owned.filter(|id| !family.contains(id)).collect();
            family.extend(owned);
            place += 1;
        }
        family
    }

    /// The schema can be asked for, and has the descriptions of the model.
    async fn check_introspection(&self) {
        let query = "{ __schema { types { name description fields { name description args { name description } } } } }";
        let data = self.data(usize::MAX, query, json!({})).await;
        let types = data["__schema"]["types"].as_array().unwrap().clone();
        for (_, ty) in self.model.types().filter(|(_, ty)| !ty.item.hidden) {
            let found = types.iter().find(|found| found["name"] == ty.name).expect("a type of the schema");
            let description = found["description"].as_str().map(str::to_owned);
            assert!(description.is_some() || ty.item.description.is_none(), "{}: {}", self.name, ty.name);
        }
        let queries = self.model.model().queries().iter();
        let root = types.iter().find(|found| found["name"] == "Query").expect("a root");
        for query in queries.filter(|query| !matches!(query.kind, QueryKind::Caller)) {
            let is_it = |field: &&Value| field["name"] == *query.name;
            assert!(root["fields"].as_array().unwrap().iter().any(|field| is_it(&field)), "{}", query.name);
        }
    }
}
