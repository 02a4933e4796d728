//! Names in the support check: the names of a model beside the names that the server adds to the schema.

use std::borrow::Cow;
use std::collections::BTreeSet;

use onehop_model::{Action, Field, Model};
use onehop_store::property_of_path;

use super::findings::Findings;
use crate::served::input_names::input_name_of;

/// Types that the server adds to the schema.
const OWN_TYPES: [&str; 10] = [
    "Query",
    "Mutation",
    "Subscription",
    "Node",
    "PageInfo",
    "DateTime",
    "Decimal",
    "Money",
    "MoneyInput",
    "Upload",
];

/// Mutations of accounts.
const ACCOUNT_MUTATIONS: [&str; 4] = ["signIn", "signOut", "renewSession", "changePassword"];

/// Inputs that the server adds: of each type, and of accounts.
const OWN_INPUTS: [&str; 4] = ["ifVersion", "idempotencyKey", "password", "currentPassword"];
/// Fields of the payload of a sign-in, beside the account.
const SESSION_FIELDS: [&str; 3] = ["accessToken", "expiresAt", "refreshToken"];

/// The longest name, in bytes: names that the server derives fit the store's limits.
const NAME_BYTES_MAX: usize = 200;

/// Refuses names of the model that are the server's own, or too long.
pub(super) fn check(model: &Model, findings: &mut Findings) {
    let mut added: BTreeSet<String> = OWN_TYPES.iter().map(|name| (*name).to_owned()).collect();
    let mut mutations: BTreeSet<String> = BTreeSet::new();
    for item in model.items().iter().filter(|item| !item.hidden) {
        added.extend([format!("{}Connection", item.name), format!("{}Edge", item.name)]);
        for action in ["Create", "Update", "Delete"] {
            added.extend([format!("{action}{}Input", item.name), format!("{action}{}Payload", item.name)]);
        }
        let generated = item.writes.iter().map(|action| mutation_name(*action, &item.name));
        mutations.extend(generated);
        if item.login.is_some() {
            mutations.extend(ACCOUNT_MUTATIONS.map(str::to_owned));
            mutations.insert(mutation_name(Action::Create, &item.name));
        }
    }
    added.extend(model.embedded().iter().map(|embedded| format!("{}Input", embedded.name)));
    for mutation in ACCOUNT_MUTATIONS
        .iter()
        .copied()
        .map(str::to_owned)
        .chain(model.mutations().iter().map(|mutation| mutation.name.to_string()))
    {
        let name = pascal(&mutation);
        added.extend([format!("{name}Input"), format!("{name}Payload")]);
    }
    let items = model.items().iter().map(|item| &item.name);
    let embedded = model.embedded().iter().map(|embedded| &embedded.name);
    for name in items.chain(embedded).chain(model.enums().iter().map(|it| &it.name)) {
        findings.add_if(
            added.contains(&**name),
            name,
            "type",
            "has a name that the server adds to the schema",
        );
    }
    for name in all_names(model) {
        let shown: String = name.chars().take(40).collect();
        findings.add_if(name.len() > NAME_BYTES_MAX, &format!("{shown}…"), "name", "has more than 200 bytes");
    }
    for mutation in model.mutations() {
        let place = format!("Mutation.{}", mutation.name);
        findings.add_if(
            mutations.contains(&*mutation.name),
            &place,
            "@writes",
            "has the name of a generated mutation",
        );
    }
    for item in
        model.items().iter().filter(|item| !item.hidden && !item.writes.is_empty() || item.login.is_some())
    {
        let own = if item.login.is_some() { &OWN_INPUTS[..] } else { &OWN_INPUTS[..2] };
        inputs(&item.name, &item.fields, own, findings);
        let is_taken = item.login.is_some() && SESSION_FIELDS.contains(&&*item.name.camel_case());
        let reason = "has the name of a field of the server in its payload";
        findings.add_if(is_taken, &item.name, "@account", reason);
    }
    for embedded in model.embedded() {
        inputs(&embedded.name, &embedded.fields, &[], findings);
    }
    for query in model.queries() {
        let place = format!("Query.{}", query.name);
        findings.add_if(
            ["node", "nodes"].contains(&&*query.name),
            &place,
            "Query",
            "has a name that the server adds to the schema",
        );
    }
}

/// Refuses a second input of one name, such as the number `authorId` beside the reference `author`.
fn inputs(type_name: &str, fields: &[Field], own: &[&str], findings: &mut Findings) {
    let mut known: BTreeSet<&str> = own.iter().copied().collect();
    for field in fields {
        let Some(name) = input_name_of(field) else { continue };
        let reason = format!("has the input `{name}`, as another field or the server has");
        findings.add_if(!known.insert(name), &format!("{type_name}.{}", field.name), "name", &reason);
    }
}

/// The names of types, fields and stored properties.
fn all_names(model: &Model) -> impl Iterator<Item = Cow<'_, str>> {
    let items = model.items().iter().map(|item| (&*item.name, item.fields.as_slice()));
    let embedded = model.embedded().iter().map(|embedded| (&*embedded.name, embedded.fields.as_slice()));
    let of_fields = items.chain(embedded).flat_map(|(name, fields)| {
        let paths = fields.iter().filter_map(|field| field.property());
        let properties = paths.map(|path| Cow::Owned(property_of_path(path.properties())));
        let names = std::iter::once(name).chain(fields.iter().map(|field| &*field.name));
        names.map(Cow::Borrowed).chain(properties)
    });
    let stored = model.items().iter().flat_map(|item| [item.type_value.as_str(), &*item.container]);
    of_fields.chain(stored.map(Cow::Borrowed))
}

/// The name of a generated mutation.
#[must_use]
pub fn mutation_name(action: Action, item_type: &str) -> String {
    let verb = match action {
        Action::Create => "create",
        Action::Read => "read",
        Action::Update => "update",
        Action::Delete => "delete",
    };
    format!("{verb}{item_type}")
}

/// A name with a capital first letter.
#[must_use]
pub fn pascal(name: &str) -> String {
    let mut characters = name.chars();
    characters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(characters).collect()
}
