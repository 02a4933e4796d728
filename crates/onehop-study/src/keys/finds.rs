//! Finds: how the requests of a study look for items of each type, whatever the design.

use onehop_model::{
    Action, FieldKind, FieldTest, ItemType, Model, QueryKind, RelatedField, RelatedSource, Request, Selection,
};

use crate::directory::StudyDirectory;

/// One way in which a request looks for items.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Find {
    pub request: String,
    pub item_type: String,
    /// The fields with a given value; `id` alone for single items, empty for all items.
    pub by: Vec<String>,
    pub per_second: f64,
    pub kind: FindKind,
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

/// The finds of all requests, by the designs of the study: each way once.
pub(super) fn finds(study: &StudyDirectory) -> Vec<Find> {
    let mut all: Vec<Find> = Vec::new();
    for design in &study.designs {
        for request in study.requests.requests() {
            let mut found = Vec::new();
            for selection in &request.fields {
                Finder { model: &design.model, request }.root(selection, &mut found);
            }
            for find in found {
                if !all.contains(&find) {
                    all.push(find);
                }
            }
        }
    }
    all
}

struct Finder<'a> {
    model: &'a Model,
    request: &'a Request,
}

impl Finder<'_> {
    fn find(&self, item_type: &str, by: Vec<String>, kind: FindKind) -> Find {
        let (request, per_second) = (self.request.name.to_string(), self.request.per_second);
        Find { request, item_type: item_type.to_owned(), by, per_second, kind }
    }

    fn root(&self, selection: &Selection, found: &mut Vec<Find>) {
        if self.request.is_write {
            let Some(target) = self.model.write_target(&selection.field) else { return };
            let kind = if target.action == Action::Create { FindKind::Create } else { FindKind::Change };
            found.push(self.find(&target.item_type, vec!["id".to_owned()], kind));
            return;
        }
        let Some(query) = self.model.queries().iter().find(|query| query.name == selection.field) else {
            return;
        };
        let Some(item) = self.model.item(&query.item_type) else { return };
        match &query.kind {
            QueryKind::Related(related) => found.push(self.several(item, related)),
            _ => found.push(self.find(&item.name, vec!["id".to_owned()], FindKind::Item)),
        }
        self.fields(item, selection, found);
    }

    fn fields(&self, item: &ItemType, selection: &Selection, found: &mut Vec<Find>) {
        for inner in &selection.selections {
            match item.field(&inner.field).map(|field| &field.kind) {
                Some(FieldKind::Related(related)) => {
                    let Some(target) = self.model.item(&related.item_type) else { continue };
                    found.push(self.several(target, related));
                    self.fields(target, inner, found);
                }
                Some(FieldKind::Count(count)) => {
                    let Some(FieldKind::Related(related)) = item.field(&count.of).map(|field| &field.kind)
                    else {
                        continue;
                    };
                    if let Some(target) = self.model.item(&related.item_type) {
                        found.push(self.several(target, related));
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
    }

    /// The fields whose values a list gives: of its parent, and of conditions.
    fn several(&self, item: &ItemType, related: &RelatedField) -> Find {
        let mut by: Vec<String> = match &related.source {
            RelatedSource::Partition { by } => by.iter().map(ToString::to_string).collect(),
            RelatedSource::Find { by, through: None } => by.iter().map(ToString::to_string).collect(),
            RelatedSource::Find { through: Some(_), .. } => Vec::new(),
            RelatedSource::List(list) => list.by.iter().map(ToString::to_string).collect(),
        };
        let conditions =
            related.conditions.iter().filter(|condition| matches!(condition.test, FieldTest::Is(_)));
        by.extend(conditions.filter_map(|condition| Some(condition.field.single()?.to_string())));
        self.find(&item.name, by, FindKind::Several)
    }
}
