//! Compiled plans over a driven model: random documents have the same answer from a plan and from the general
//! executor, and every field has a plan or a reason to have none.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use onehop::api::{ApiOptions, ServedApiParts, served_executor_of};
use onehop::graphql::served::ServedExecutor;
use onehop::served::{ItemPlace, ServedModel, is_derived_of_caller, related};
use onehop_model::{
    CountField, Field, FieldKind, Function, Kept, QueryKind, RelatedField, TypeOf, ValueSource,
};

use super::Driver;
use crate::planned_requests::Asked;
use crate::random_documents::{Documents, RandomDocument};
use crate::served::server::tokens;

/// The number of random documents that are compared.
const DOCUMENTS: u64 = 60;

/// The queries of a field with a reason: none of them may have a plan.
const UNPLANNED_QUERIES: usize = 2;

/// The answers of plans in one run.
#[derive(Debug, Default)]
pub struct PlannedAnswers {
    pub valid: u64,
    pub by_plan: u64,
    /// The fields that a plan has shown, and all fields.
    pub planned: BTreeSet<String>,
    pub all: BTreeSet<String>,
    /// The fields that no plan answers, each with the reason.
    pub reasons: BTreeMap<String, &'static str>,
}

impl Driver {
    /// Compares plans with the general executor.
    pub async fn check_plans(&self, answers: &mut PlannedAnswers) {
        let accounts: Vec<_> = self.accounts.iter().map(|account| self.account_id(&account.id)).collect();
        let staff = accounts.last().and_then(|id| uuid::Uuid::try_parse(id).ok());
        let executor = self.executor(staff.into_iter().collect());
        let documents = Documents::of(executor.sdl(), self.ids());
        let callers: Vec<Option<String>> =
            std::iter::once(None).chain(accounts.into_iter().map(Some)).collect();
        for seed in 0..DOCUMENTS {
            let RandomDocument { text, variables } = documents.random(seed);
            let Some(asked) = Asked::within_limits(&text, variables) else { continue };
            let caller = callers[usize::try_from(seed).unwrap() % callers.len()].clone();
            let asked = Asked { caller, is_ordered: false, ..asked };
            let (_, is_planned) = asked.compare(&executor).await;
            answers.valid += u64::from(asked.document.is_valid());
            answers.by_plan += u64::from(is_planned);
        }
        for (type_name, field) in documents.fields() {
            let name = format!("{type_name}.{field}");
            let mut queries = documents.queries_of(type_name, field);
            if let Some(reason) = reason(&self.model, type_name, field) {
                answers.reasons.insert(name.clone(), reason);
                queries.truncate(UNPLANNED_QUERIES);
            }
            if !answers.planned.contains(&name) && is_planned(&executor, &callers, &queries).await {
                answers.planned.insert(name.clone());
            }
            answers.all.insert(name);
        }
    }

    fn executor(&self, staff: HashSet<uuid::Uuid>) -> ServedExecutor {
        let parts = ServedApiParts {
            tokens: tokens(),
            staff,
            provider: None,
            options: ApiOptions::default(),
            telemetry: None,
        };
        served_executor_of(&self.server.app, &parts).unwrap()
    }

    /// The stored id of an account's item.
    fn account_id(&self, id: &str) -> String {
        ItemPlace::decode(&self.model, id).unwrap().id
    }

    /// The ids of the items, by their types.
    fn ids(&self) -> BTreeMap<String, Vec<String>> {
        let mut ids = BTreeMap::<String, Vec<String>>::new();
        for item in &self.items {
            ids.entry(self.model.ty(item.ty).name.to_owned()).or_default().push(item.id.clone());
        }
        if let Some(ty) = self.model.account() {
            let accounts = self.accounts.iter().map(|account| account.id.clone());
            ids.insert(self.model.ty(ty).name.to_owned(), accounts.collect());
        }
        ids
    }
}

/// The reason for which no plan answers a field.
fn reason(model: &ServedModel, type_name: &str, field: &str) -> Option<&'static str> {
    if type_name == "Query" {
        let query = model.model().queries().iter().find(|query| &*query.name == field)?;
        return match &query.kind {
            QueryKind::ByUnique(_) => Some("a reservation is read before the item"),
            QueryKind::Related(list) if !list.arguments().is_empty() => Some("arguments name its partition"),
            _ => None,
        };
    }
    if let Some(embedded) = model.embedded(type_name) {
        return keyed_list(embedded.fields.iter().find(|found| *found.name == *field)?);
    }
    let item = &model.ty(model.index_of(type_name)?).item;
    let declared = item.field(field)?;
    match &declared.kind {
        FieldKind::HasCaller(list) if item.field(list).and_then(related).is_some_and(has_conditions) => {
            Some("its list has conditions")
        }
        FieldKind::HasCaller(list) => {
            let list = item.field(list).and_then(related)?;
            let listed = &model.ty(model.index_of(&list.item_type)?).item;
            (!is_derived_of_caller(&item.name, list, listed)).then_some("its list is looked through")
        }
        FieldKind::Reference(_) => keyed_list(declared),
        FieldKind::Stored(stored) if stored.property.properties().len() > 1 => {
            Some("its property lies below an object")
        }
        FieldKind::Stored(stored) if is_money(declared) => match &stored.source {
            ValueSource::Computed(rule) if rule.function == Function::Sum && !rule.stored => {
                Some("the sum is over a list of amounts")
            }
            _ => None,
        },
        FieldKind::Count(CountField { kept: Kept::Query, .. }) => Some("items are counted when it is read"),
        _ => None,
    }
}

/// The reason of a list of references whose targets have a partition key beside the list.
fn keyed_list(field: &Field) -> Option<&'static str> {
    match &field.kind {
        FieldKind::Reference(reference) if field.ty.list.is_some() => {
            (!reference.partition.is_empty()).then_some("the partition key lies beside the list")
        }
        _ => None,
    }
}

fn is_money(field: &Field) -> bool {
    matches!(field.ty.of, TypeOf::Scalar(scalar) if scalar.name() == "Money")
}

fn has_conditions(list: &RelatedField) -> bool {
    !list.conditions.is_empty()
}

/// Whether a plan answers one of these queries.
async fn is_planned(
    executor: &ServedExecutor,
    callers: &[Option<String>],
    queries: &[RandomDocument],
) -> bool {
    for RandomDocument { text, variables } in queries {
        for caller in callers {
            let asked = Asked::new(text, variables.clone());
            let asked = Asked { caller: caller.clone(), is_ordered: false, ..asked };
            if asked.planned(executor).await.is_some() {
                return asked.compare(executor).await.1;
            }
        }
    }
    false
}
