//! Finds: how the requests of a study look for items of each type, whatever the design.

use onehop_model::{
    Action, FieldKind, FieldTest, ItemType, Model, QueryKind, RelatedField, RelatedSource, Request,
    Selection, Skew,
};

use crate::directory::StudyDirectory;

/// One way in which a request looks for items.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Find {
    pub request: String,
    pub item_type: String,
    /// The fields of the request down to the items.
    pub path: Vec<String>,
    /// The fields with a given value; `id` alone for single items, empty for all items.
    pub by: Vec<String>,
    /// The fields that a change writes, as far as the request names them.
    pub writes: Vec<String>,
    pub per_second: f64,
    pub skew: Option<Skew>,
    pub kind: FindKind,
    /// Items of a page.
    pub page: u32,
}

/// The purpose of a find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FindKind {
    /// One item by its id, which holds its partition key.
    Item,
    /// Several items.
    Several,
    /// A new item.
    Create,
    /// An item by its id, to change it.
    Change,
}

/// The finds of all requests: each once, with the fields that the request gives under any design. A request
/// that gives a tenant beside a user under one design can give it under all.
pub(super) fn finds(study: &StudyDirectory) -> Vec<Find> {
    let mut all: Vec<Find> = Vec::new();
    for design in &study.designs {
        for request in study.requests.requests().iter().filter(|request| request.is_of(&design.name)) {
            let mut found = Vec::new();
            for selection in &request.fields {
                Finder { model: &design.model, request, path: Vec::new() }.root(selection, &mut found);
            }
            for find in found {
                let is_same = |known: &&mut Find| {
                    (&known.request, &known.item_type, &known.path, known.kind)
                        == (&find.request, &find.item_type, &find.path, find.kind)
                };
                match all.iter_mut().find(is_same) {
                    Some(known) => {
                        add_new(&mut known.by, find.by);
                        add_new(&mut known.writes, find.writes);
                    }
                    None => all.push(find),
                }
            }
        }
    }
    all
}

fn add_new(known: &mut Vec<String>, fields: Vec<String>) {
    for field in fields {
        if !known.contains(&field) {
            known.push(field);
        }
    }
}

struct Finder<'a> {
    model: &'a Model,
    request: &'a Request,
    path: Vec<String>,
}

impl Finder<'_> {
    fn find(&self, item_type: &str, by: Vec<String>, kind: FindKind, page: u32) -> Find {
        let Request { name, per_second, skew, .. } = self.request;
        Find {
            request: name.to_string(),
            item_type: item_type.to_owned(),
            path: self.path.clone(),
            by,
            writes: Vec::new(),
            per_second: *per_second,
            skew: *skew,
            kind,
            page,
        }
    }

    fn root(&mut self, selection: &Selection, found: &mut Vec<Find>) {
        self.path.push(selection.field.to_string());
        if self.request.is_write {
            let Some(target) = self.model.write_target(&selection.field) else { return };
            let kind = if target.action == Action::Create { FindKind::Create } else { FindKind::Change };
            let mut find = self.find(&target.item_type, vec!["id".to_owned()], kind, 1);
            if target.action == Action::Update {
                let named = if target.fields.is_empty() { selection.input_fields() } else { target.fields };
                find.writes = named.iter().map(|field| self.written(&target.item_type, field)).collect();
            }
            found.push(find);
            return;
        }
        let Some(query) = self.model.queries().iter().find(|query| query.name == selection.field) else {
            return;
        };
        let Some(item) = self.model.item(&query.item_type) else { return };
        match &query.kind {
            QueryKind::Related(related) => found.push(self.several(item, related, selection)),
            _ => found.push(self.find(&item.name, vec!["id".to_owned()], FindKind::Item, 1)),
        }
        self.fields(item, selection, found);
    }

    /// The field of an input: `customerId` sets the reference `customer`.
    fn written(&self, item_type: &str, input: &str) -> String {
        let is_reference = |field: &str| {
            let field = self.model.item(item_type).and_then(|item| item.field(field));
            field.is_some_and(|field| matches!(field.kind, FieldKind::Reference(_)))
        };
        match input.strip_suffix("Id").filter(|field| is_reference(field)) {
            Some(field) => field.to_owned(),
            None => input.to_owned(),
        }
    }

    fn fields(&mut self, item: &ItemType, selection: &Selection, found: &mut Vec<Find>) {
        for inner in &selection.selections {
            self.path.push(inner.field.to_string());
            self.inner(item, inner, found);
            self.path.pop();
        }
    }

    fn inner(&mut self, item: &ItemType, inner: &Selection, found: &mut Vec<Find>) {
        match item.field(&inner.field).map(|field| &field.kind) {
            Some(FieldKind::Related(related)) => {
                let Some(target) = self.model.item(&related.item_type) else { return };
                found.push(self.several(target, related, inner));
                self.fields(target, inner, found);
            }
            Some(FieldKind::Count(count)) => {
                let counted = item.field(&count.of).map(|field| &field.kind);
                let Some(FieldKind::Related(related)) = counted else { return };
                if let Some(target) = self.model.item(&related.item_type) {
                    found.push(self.several(target, related, inner));
                }
            }
            Some(FieldKind::Reference(reference)) => {
                if let Some(target) = self.model.item(&reference.target) {
                    self.fields(target, inner, found);
                }
            }
            _ => {}
        }
    }

    /// The fields whose values a list gives: of its parent, and of conditions.
    fn several(&self, item: &ItemType, related: &RelatedField, selection: &Selection) -> Find {
        let mut by: Vec<String> = match &related.source {
            RelatedSource::Partition { by } => by.iter().map(ToString::to_string).collect(),
            RelatedSource::Find { by, through: None } => by.iter().map(ToString::to_string).collect(),
            RelatedSource::Find { through: Some(_), .. } => Vec::new(),
            RelatedSource::List(list) => list.by.iter().map(ToString::to_string).collect(),
        };
        let conditions =
            related.conditions.iter().filter(|condition| matches!(condition.test, FieldTest::Is(_)));
        by.extend(conditions.filter_map(|condition| Some(condition.field.single()?.to_string())));
        let page = &related.page;
        let page = selection.number("first").unwrap_or(page.default_items()).min(page.max.max(1));
        self.find(&item.name, by, FindKind::Several, page)
    }
}
