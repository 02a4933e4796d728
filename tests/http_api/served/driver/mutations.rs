//! Mutations of a model's own names: updates of some fields, which conditions may refuse.

use onehop::served::pascal;
use onehop_model::{Action, Mutation};
use serde_json::json;

use super::inputs::Generated;
use super::lists::holds;
use super::selections::Selections;
use super::{Driven, Driver};

impl Driver {
    /// Runs an update of the model's own on an item: it succeeds where its conditions hold, and is a conflict
    /// elsewhere.
    pub(super) async fn update_by_name(&mut self) {
        let model = self.model.clone();
        let is_update = |mutation: &&Mutation| mutation.action == Action::Update && !mutation.rust;
        let mutations: Vec<&Mutation> = model.model().mutations().iter().filter(is_update).collect();
        if mutations.is_empty() {
            return;
        }
        let mutation = mutations[self.inputs.below(mutations.len())];
        let is_written = |item: &Driven| model.ty(item.ty).name == &*mutation.item_type;
        let Some(place) = self.place_of_one(is_written) else { return };
        let item = self.items[place].clone();
        let generated = self.inputs.change_of(&model, &item, &mutation.fields, &self.items);
        let Some(Generated { mut input, values, references, .. }) = generated else { return };
        let ty = model.ty(item.ty);
        input.insert(ty.id_input.to_owned(), json!(item.id));
        let (name, camel) = (&mutation.name, ty.item.name.camel_case());
        let selection = Selections(&model).of_inputs(item.ty);
        let conditioned: Vec<String> =
            mutation.conditions.iter().map(|condition| selection_of(condition.field.fields())).collect();
        let query = format!(
            "query($id: ID!) {{ node(id: $id) {{ ... on {} {{ id {} }} }} }}",
            ty.name,
            conditioned.join(" ")
        );
        let before = self.data(item.account, &query, json!({ "id": item.id })).await["node"].take();
        let is_allowed = mutation
            .conditions
            .iter()
            .all(|condition| holds(self.model.model(), &ty.item, condition, &before));
        let query = format!(
            "mutation($input: {}Input!) {{ {name}(input: $input) {{ {camel} {{ id {selection} }} }} }}",
            pascal(name)
        );
        match self.attempt(item.account, &query, json!({ "input": input })).await {
            Ok(mut data) => {
                assert!(is_allowed, "{}: {name} of {before:#}", self.name);
                self.compare_values(&values, &data[&**name][&*camel].take());
                self.items[place].values.extend(values);
                self.items[place].references.extend(references);
            }
            // A taken value is a conflict, too.
            Err(code) if code == "CONFLICT" => {
                let has_unique = ty.unique.iter().any(|unique| values.contains_key(unique.name));
                assert!(!is_allowed || has_unique, "{}: {name} is refused for {before:#}", self.name);
            }
            Err(errors) => panic!("{}: {errors}\n{query}\n{input:#?}", self.name),
        }
    }
}

/// The selection of a path of fields: `address { city }`.
fn selection_of(path: &[onehop_model::Name]) -> String {
    match path {
        [] => String::new(),
        [field] => field.to_string(),
        [object, inner @ ..] => format!("{object} {{ {} }}", selection_of(inner)),
    }
}
