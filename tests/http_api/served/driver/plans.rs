//! Compiled plans over a driven model: random documents have the same answer from a plan and from the general
//! executor, and every field has a plan or a reason to have none.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use onehop::api::{ApiOptions, ServedApiParts, served_executor_of};
use onehop::graphql::served::ServedExecutor;
use onehop::served::ItemPlace;
use onehop_graphql_server::document::Document;
use onehop_graphql_server::document_limits::DocumentLimits;

use super::Driver;
use crate::planned_requests::Asked;
use crate::random_documents::{Documents, RandomDocument};
use crate::served::server::tokens;

/// The number of random documents that are compared.
const DOCUMENTS: u64 = 250;

/// The answers of plans in one run.
#[derive(Debug, Default)]
pub struct PlannedAnswers {
    pub valid: u64,
    pub by_plan: u64,
    /// The fields that a plan has shown, and all fields.
    pub planned: BTreeSet<String>,
    pub all: BTreeSet<String>,
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
            let Ok(document) = Document::parse(&text, &DocumentLimits::default()) else { continue };
            let caller = callers[seed as usize % callers.len()].clone();
            let asked = Asked { document: Arc::new(document), operation: None, variables, caller };
            let compared = asked.compare(&executor).await;
            answers.valid += u64::from(asked.document.is_valid());
            answers.by_plan += u64::from(compared.is_planned);
        }
        for (type_name, field) in documents.fields() {
            let name = format!("{type_name}.{field}");
            for RandomDocument { text, variables } in documents.queries_of(type_name, field) {
                for caller in &callers {
                    let asked = Asked { caller: caller.clone(), ..Asked::new(&text, variables.clone()) };
                    if asked.compare(&executor).await.is_planned {
                        answers.planned.insert(name.clone());
                    }
                }
            }
            answers.all.insert(name);
        }
    }

    fn executor(&self, staff: HashSet<uuid::Uuid>) -> ServedExecutor {
        let parts = ServedApiParts { tokens: tokens(), staff, options: ApiOptions::default(), telemetry: None };
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
