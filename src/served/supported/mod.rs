//! Support check: the parts of a valid model that this server cannot serve, all of them at once, before any
//! data is touched. Each finding names the type and field, and the directive.

use onehop_model::{
    Action, CopyOrigin, CopySource, Event, Field, FieldKind, FieldPath, Function, ItemType, Kept, LiveSource,
    Model, Name, QueryKind, RelatedField, RelatedSource, StoredField, Subscription, TypeOf, ValueSource,
};
mod findings;
mod names;

use self::findings::Findings;
pub use self::findings::Unsupported;
pub use self::names::{mutation_name, pascal};
use super::claims::{CLAIMS_MAX, claims_of};
use super::formats::{format_of, is_money};
use super::recognition::recognised_properties;
use super::related_fields::{caller_reference, is_derived_of_caller, related};

/// The most containers of a model: the embedded store numbers all of a directory by a byte.
const CONTAINERS_MAX: usize = 250;
/// Everything in a model that the server cannot serve.
#[must_use]
pub fn unsupported(model: &Model) -> Vec<Unsupported> {
    let mut findings = Findings(Vec::new());
    containers(model, &mut findings);
    for item in model.items() {
        item_type(model, item, &mut findings);
        for field in &item.fields {
            item_field(model, item, field, &mut findings);
        }
    }
    for embedded in model.embedded() {
        for field in &embedded.fields {
            let place = format!("{}.{}", embedded.name, field.name);
            embedded_field(model, &place, (&embedded.fields, field), &mut findings);
        }
    }
    hidden(model, &mut findings);
    claims(model, &mut findings);
    operations(model, &mut findings);
    names::check(model, &mut findings);
    findings.0
}

fn containers(model: &Model, findings: &mut Findings) {
    if let Some(container) = model.containers().get(CONTAINERS_MAX) {
        let name = format!("container {}", container.name);
        findings.add(&name, "@container", "is the 251st container, and a model has at most 250");
    }
}

fn claims(model: &Model, findings: &mut Findings) {
    let found = claims_of(model).len();
    let rule = format!("has {found} different claims, at most {CLAIMS_MAX} are served");
    findings.add_if(found > CLAIMS_MAX, "the model", "@auth(claim)", &rule);
}

fn item_type(model: &Model, item: &ItemType, findings: &mut Findings) {
    if let Err(reason) = recognised_properties(item) {
        findings.add(&item.name, "@where", &reason);
    }
    let is_type = |field: &&Field| field.property().is_some_and(|path| path.properties() == ["type"]);
    if let Some(field) = item.fields.iter().find(is_type) {
        let place = format!("{}.{}", item.name, field.name);
        findings.add(&place, "@stored(as)", "is the server's property `type`");
    }
    let rules = &item.authorization;
    let is_account = item.login.is_some();
    findings.add_if(
        is_account && !rules.create.public && !rules.create.signed_in && !rules.create.staff,
        &item.name,
        "@auth(on: CREATE)",
        "of an account must allow PUBLIC, SIGNED_IN (anybody signs up) or STAFF",
    );
    findings.add_if(
        is_account && !item.id_from.is_empty(),
        &item.name,
        "@account",
        "has an id of the server, no @item(idFrom)",
    );
    findings.add_if(
        is_account && model.deletes(item) && model.ends_unseen(item),
        &item.name,
        "@deletes",
        "of an account with DELETE is SOFT: its sessions and its password follow a mark",
    );
}

fn item_field(model: &Model, item: &ItemType, field: &Field, findings: &mut Findings) {
    let place = format!("{}.{}", item.name, field.name);
    match &field.kind {
        FieldKind::Stored(stored) => {
            stored_field(item, &place, field, stored, findings);
            values(model, &place, &item.fields, field, stored, findings);
        }
        FieldKind::Reference(reference) => {
            let is_nested = reference.property.properties().len() > 1;
            findings.add_if(is_nested, &place, "@stored(as)", "must be a property at the root of the item");
            findings.add_if(
                field.hidden && field.ty.non_null && !reference.caller,
                &place,
                "@hidden",
                "leaves a non-null reference without input",
            );
            let target = model.item(&reference.target);
            let needs_fields =
                reference.partition.is_empty() && target.is_some_and(ItemType::has_field_in_key);
            findings.add_if(needs_fields, &place, "@reference(partition)", "is needed here");
        }
        FieldKind::Related(related) => {
            let found = model.item(&related.item_type);
            let by = match &related.source {
                RelatedSource::Find { by: Some(by), through: None } => {
                    found.and_then(|found| found.field(by))
                }
                _ => None,
            };
            let is_array = by.is_some_and(|by| by.ty.list.is_some());
            findings.add_if(
                is_array,
                &place,
                "@find(by)",
                "of a list is not served for items that expire or have HARD deletions",
            );
        }
        FieldKind::Count(count) => {
            let of = item.field(&count.of).and_then(related);
            let is_counted = of.is_some_and(|of| match (&of.source, &count.kept) {
                // The read models say which of them a projection counts.
                (_, Kept::Behind { .. }) => true,
                (RelatedSource::Partition { .. }, Kept::Batch { .. }) => true,
                (RelatedSource::Partition { .. }, Kept::Query) => true,
                (RelatedSource::Find { .. }, Kept::Query) => true,
                (RelatedSource::List(list), Kept::Query) => list.keep.is_none(),
                _ => false,
            });
            let reason = "counts no list with `keep`";
            findings.add_if(!is_counted, &place, "@count(of)", reason);
        }
        FieldKind::HasCaller(list) => {
            let related = item.field(list).and_then(related);
            let listed = related.and_then(|related| Some((related, model.item(&related.item_type)?)));
            let is_served = listed.is_some_and(|(related, listed)| {
                is_derived_of_caller(&item.name, related, listed) || has_caller_in_pages(related, listed)
            });
            let reason = "needs a list whose items are derived from this one and the caller (@item(idFrom)), or \
                          whose entries have the reference to the caller";
            findings.add_if(!is_served, &place, "@caller(in)", reason);
        }
    }
}

/// Whether the items or entries of a list have the reference to the caller.
fn has_caller_in_pages(related: &RelatedField, listed: &ItemType) -> bool {
    match (&related.source, caller_reference(listed)) {
        (_, None) => false,
        (RelatedSource::Partition { .. } | RelatedSource::Find { through: None, .. }, Some(_)) => true,
        (RelatedSource::Find { .. }, Some(_)) => false,
        (RelatedSource::List(list), Some((name, _))) => {
            list.keep.is_none() && list.fields.iter().any(|path| path.single() == Some(name))
        }
    }
}

fn stored_field(item: &ItemType, place: &str, field: &Field, stored: &StoredField, findings: &mut Findings) {
    if stored.source == ValueSource::Input {
        let is_written = !field.hidden || !field.ty.non_null || stored.default.is_some();
        findings.add_if(!is_written, place, "@hidden", "leaves a non-null field without input and @default");
        let is_login = item.login.as_ref() == Some(&field.name);
        findings.add_if(is_login && field.hidden, place, "@hidden", "hides the login");
    }
}

fn embedded_field(model: &Model, place: &str, (fields, field): (&[Field], &Field), findings: &mut Findings) {
    let is_updated = field.authorization.update.is_some();
    let reason = "on: UPDATE is not served in an embedded type: updates replace the whole object";
    findings.add_if(is_updated, place, "@auth", reason);
    let asks_for_owner = field.authorization.read.as_ref().is_some_and(|grants| !grants.owner.is_empty());
    let reason = "for an OWNER is not served in an embedded type: it stands on the field of the item";
    findings.add_if(asks_for_owner, place, "@auth", reason);
    match &field.kind {
        FieldKind::Stored(stored) => {
            let is_served = match &stored.source {
                ValueSource::Input | ValueSource::Computed(_) => true,
                ValueSource::Copied(source) => source.frozen,
                _ => false,
            };
            let reason = "has input, computed values and frozen copies alone";
            findings.add_if(!is_served, place, "@embedded", reason);
            let reason = "is not served in an embedded type: updates replace the whole object";
            findings.add_if(stored.immutable, place, "@immutable", reason);
            values(model, place, fields, field, stored, findings);
        }
        FieldKind::Reference(reference) => {
            let is_found = model.item(&reference.target).is_none_or(|target| !target.has_field_in_key());
            let is_found = is_found || !reference.partition.is_empty();
            findings.add_if(!is_found, place, "@reference(partition)", "is needed here");
            findings.add_if(reference.caller, place, "@caller", "is not served in an embedded type");
        }
        _ => findings.add(place, "@embedded", "has stored values and references alone"),
    }
}

/// The values of a field of an item or an object: amounts, computed values and copies.
fn values(
    model: &Model,
    place: &str,
    fields: &[Field],
    field: &Field,
    stored: &StoredField,
    findings: &mut Findings,
) {
    findings.add_if(is_money(field) && field.ty.list.is_some(), place, "Money", "is not served in a list");
    match &stored.source {
        ValueSource::Computed(rule) if matches!(rule.function, Function::Product | Function::Sum) => {
            let amounts = rule.from.iter().filter(|path| is_amount(model, fields, path)).count();
            let reason = "is an amount from one amount, and a number from numbers";
            findings.add_if(amounts != usize::from(is_money(field)), place, "@computed(from)", reason);
        }
        ValueSource::Computed(rule) => {
            let from = rule.from.first().and_then(|path| field_at(model, fields, path.fields()));
            let is_plain = rule.from.len() == 1 && from.is_some();
            let reason = "must be one field of the same type, or of a single object in it";
            findings.add_if(!is_plain, place, "@computed(from)", reason);
            let is_same = from.is_none_or(|from| format_of(from) == stored.format && !is_money(from));
            findings.add_if(
                !is_same,
                place,
                "@computed(from)",
                "must have the same @stored(format), and no Money",
            );
        }
        ValueSource::Copied(source) => copied_value(model, place, fields, (field, source), findings),
        _ => {}
    }
}

/// A copied scalar: from a single reference, of the same stored form.
fn copied_value(
    model: &Model,
    place: &str,
    fields: &[Field],
    (field, source): (&Field, &CopySource),
    findings: &mut Findings,
) {
    let target_of = |field: &Field| match &field.kind {
        FieldKind::Reference(reference) if field.ty.list.is_none() => model.item(&reference.target),
        _ => None,
    };
    let (target, copied) = match &source.from {
        CopyOrigin::Reference { reference, field } => {
            (fields.iter().find(|found| found.name == *reference).and_then(target_of), field)
        }
        CopyOrigin::Type { item_type, field } => {
            let mut leading = fields.iter().filter_map(target_of).filter(|target| target.name == *item_type);
            (leading.next().filter(|_| leading.next().is_none()), field)
        }
    };
    let Some(target) = target else {
        return findings.add(
            place,
            "@copy(from)",
            "is served from a type that one single reference leads to",
        );
    };
    let Some(copied) = target.field(copied) else { return };
    let is_same = format_of(copied) == format_of(field) && is_money(copied) == is_money(field);
    findings.add_if(!is_same, place, "@copy(from)", "must have the type and @stored(format) of its source");
    let follows = is_money(field) && !source.frozen;
    findings.add_if(follows, place, "@copy(from)", "of Money must be frozen: its currency does not follow");
}

/// The field at the end of a path through single objects.
fn field_at<'a>(model: &'a Model, fields: &'a [Field], path: &[Name]) -> Option<&'a Field> {
    let (name, below) = path.split_first()?;
    let field = fields.iter().find(|field| field.name == *name)?;
    match (below, &field.ty.of) {
        ([], _) => Some(field),
        (_, TypeOf::Embedded(of)) if field.ty.list.is_none() => {
            field_at(model, &model.embedded_type(of)?.fields, below)
        }
        _ => None,
    }
}

/// Whether a path leads to an amount.
fn is_amount(model: &Model, fields: &[Field], path: &FieldPath) -> bool {
    let mut fields = fields;
    for (place, name) in path.fields().iter().enumerate() {
        let Some(field) = fields.iter().find(|field| field.name == *name) else { return false };
        match &field.ty.of {
            TypeOf::Embedded(of) => {
                fields = model.embedded_type(of).map_or(&[][..], |embedded| &embedded.fields);
            }
            _ => return is_money(field) && place + 1 == path.fields().len(),
        }
    }
    false
}

/// Served types have served fields, and served fields have served types.
fn hidden(model: &Model, findings: &mut Findings) {
    let is_hidden = |of: &TypeOf| match of {
        TypeOf::Item(name) => model.item(name).is_some_and(|item| item.hidden),
        TypeOf::Embedded(name) => model.embedded_type(name).is_some_and(|embedded| embedded.hidden),
        TypeOf::Scalar(_) | TypeOf::Enum(_) => false,
    };
    let items = model.items().iter().map(|item| (&item.name, item.hidden, &item.fields));
    let embedded =
        model.embedded().iter().map(|embedded| (&embedded.name, embedded.hidden, &embedded.fields));
    for (name, _, fields) in items.chain(embedded).filter(|(_, hidden, _)| !hidden) {
        findings.add_if(fields.iter().all(|field| field.hidden), name, "@hidden", "hides all fields");
        for field in fields.iter().filter(|field| !field.hidden && is_hidden(&field.ty.of)) {
            findings.add(&format!("{name}.{}", field.name), "@hidden", "hides the type of a served field");
        }
    }
    for query in model.queries().iter().filter(|query| is_hidden(&query.ty.of)) {
        findings.add(&format!("Query.{}", query.name), "@hidden", "hides the type of a served field");
    }
    for mutation in model.mutations() {
        let written = model.item(&mutation.item_type).is_some_and(|item| item.hidden);
        findings.add_if(written, &format!("Mutation.{}", mutation.name), "@hidden", "hides the written type");
    }
}

fn operations(model: &Model, findings: &mut Findings) {
    for mutation in model.mutations() {
        let place = format!("Mutation.{}", mutation.name);
        findings.add_if(mutation.rust, &place, "@writes(rust)", "needs a program with the command");
        let is_account = model.item(&mutation.item_type).is_some_and(|item| item.login.is_some());
        let is_creation = is_account && mutation.action == Action::Create;
        findings.add_if(is_creation, &place, "@writes(action)", "of an account is no CREATE: people sign up");
    }
    for found in model.subscriptions() {
        subscription(model, found, findings);
    }
    let accounts = model.items().iter().filter(|item| item.login.is_some());
    for item in accounts.skip(1) {
        findings.add(&item.name, "@account", "is served for one type");
    }
}

fn subscription(model: &Model, found: &Subscription, findings: &mut Findings) {
    let place = format!("Subscription.{}", found.name);
    let list = match &found.source {
        LiveSource::Item => return,
        LiveSource::Query(name) => {
            model.queries().iter().find(|query| query.name == *name).and_then(|query| match &query.kind {
                QueryKind::Related(list) => Some(list),
                _ => None,
            })
        }
        LiveSource::Field { item_type, field, .. } => {
            model.item(item_type).and_then(|item| item.field(field)).and_then(related)
        }
    };
    let Some(list) = list else { return };
    let is_through = matches!(list.source, RelatedSource::Find { through: Some(_), .. });
    findings.add_if(is_through, &place, "@live(of)", "is not served for a list through a link type");
    let is_unseen = model.item(&found.item_type).is_some_and(|item| model.ends_unseen(item))
        && found.on.contains(&Event::Removed)
        && super::live::is_followed(list);
    findings.add_if(
        is_unseen,
        &place,
        "@live(on)",
        "cannot have REMOVED of HARD deletions and of items that expire, which leave no trace",
    );
}
