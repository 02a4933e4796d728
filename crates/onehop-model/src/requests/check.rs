//! Checks of requests against a design: each selected field exists, objects have selections, scalars none.

use super::problem::{RequestProblem, RequestReports};
use super::value::{RequestSet, Selection, WriteTarget};
use crate::nearest::nearest;
use crate::resolve::generated_name;
use crate::value::{Action, Field, FieldKind, Keyword, Model, TypeOf};

/// Reports the fields that a design does not have.
pub(super) fn check(set: &RequestSet, design: &Model, reports: &mut RequestReports) {
    let checker = Checker { design, name: design.design().unwrap_or(design.name()) };
    for request in set.requests.iter().filter(|request| request.is_of(checker.name)) {
        for selection in &request.fields {
            if request.is_write {
                checker.mutation(selection, reports);
            } else {
                checker.query(selection, reports);
            }
        }
    }
}

struct Checker<'a> {
    design: &'a Model,
    name: &'a str,
}

impl Checker<'_> {
    fn mutation(&self, selection: &Selection, reports: &mut RequestReports) {
        if self.design.write_target(&selection.field).is_none() {
            let known = self.design.mutation_names();
            self.unknown("Mutation", selection, known.iter().map(String::as_str), reports);
        }
    }

    fn query(&self, selection: &Selection, reports: &mut RequestReports) {
        let queries = self.design.queries();
        match queries.iter().find(|query| query.name == selection.field) {
            None => {
                self.unknown("Query", selection, queries.iter().map(|query| &*query.name), reports);
            }
            Some(query) => self.object("Query", &query.item_type, selection, reports),
        }
    }

    fn object(&self, owner: &str, ty: &str, selection: &Selection, reports: &mut RequestReports) {
        if selection.selections.is_empty() {
            let (ty, field) = (owner.to_owned(), selection.field.to_string());
            return reports.add(selection.span, &RequestProblem::NoSelection { ty, field }, None);
        }
        let item = self.design.item(ty).map(|item| item.fields.as_slice());
        let embedded = || self.design.embedded_type(ty).map(|embedded| embedded.fields.as_slice());
        let fields = item.or_else(embedded).unwrap_or_default();
        for inner in &selection.selections {
            match fields.iter().find(|field| field.name == inner.field && !field.hidden) {
                Some(field) => self.field(ty, field, inner, reports),
                None => self.unknown(ty, inner, fields.iter().map(|field| &*field.name), reports),
            }
        }
    }

    fn field(&self, owner: &str, field: &Field, selection: &Selection, reports: &mut RequestReports) {
        match (&field.kind, &field.ty.of) {
            (FieldKind::Related(related), _) => self.object(owner, &related.item_type, selection, reports),
            (FieldKind::Reference(reference), _) => {
                self.object(owner, &reference.target, selection, reports);
            }
            (_, TypeOf::Embedded(name)) => self.object(owner, name, selection, reports),
            (_, TypeOf::Scalar(scalar)) if scalar.name() == "Money" => {}
            _ if !selection.selections.is_empty() => {
                let (ty, field) = (owner.to_owned(), selection.field.to_string());
                reports.add(selection.span, &RequestProblem::Leaf { ty, field }, None);
            }
            _ => {}
        }
    }

    fn unknown<'n>(
        &self,
        ty: &str,
        selection: &Selection,
        known: impl Iterator<Item = &'n str>,
        reports: &mut RequestReports,
    ) {
        let (ty, field) = (ty.to_owned(), selection.field.to_string());
        let suggestion = nearest(&selection.field, known).map(str::to_owned);
        let problem = RequestProblem::UnknownField { ty, field, design: self.name.to_owned() };
        reports.add(selection.span, &problem, suggestion.as_deref());
    }
}

impl Model {
    /// The write of a mutation of this name, generated or named by the file; `None` for other names.
    pub fn write_target(&self, name: &str) -> Option<WriteTarget> {
        if let Some(named) = self.mutations().iter().find(|mutation| &*mutation.name == name) {
            let (item_type, fields) = (named.item_type.clone(), named.fields.clone());
            return Some(WriteTarget { item_type, action: named.action, fields });
        }
        // A type that people sign up as is created by signing up.
        let admits = |item: &&crate::value::ItemType, action: Action| {
            item.writes.contains(&action) || (action == Action::Create && item.login.is_some())
        };
        let mut actions = Action::ALL.iter().map(|(_, action)| *action);
        actions.find_map(|action| {
            let is_named = |item: &&crate::value::ItemType| generated_name(action, &item.name) == name;
            let item = self.items().iter().find(|item| admits(item, action) && is_named(item))?;
            Some(WriteTarget { item_type: item.name.clone(), action, fields: Vec::new() })
        })
    }

    /// The names of all mutations, generated and named.
    fn mutation_names(&self) -> Vec<String> {
        let named = self.mutations().iter().map(|mutation| mutation.name.to_string());
        let generated = self
            .items()
            .iter()
            .flat_map(|item| item.writes.iter().map(|action| generated_name(*action, &item.name)));
        named.chain(generated).collect()
    }
}
