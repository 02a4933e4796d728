//! A served model over HTTP: its schema, its generated mutations, its accounts and its read models.

mod accounts;
mod browse;
mod changed_models;
mod computed_values;
mod conditions;
mod driver;
mod embedded_references;
mod evolution;
mod filtered_counts;
mod frozen_copies;
mod generated;
mod import;
mod lists;
mod live_queries;
mod names;
mod planned_answers;
mod provider_tokens;
mod refusals;
mod retaken_values;
mod schema;
mod sent_twice;
mod server;
mod strangers;
mod subscriptions;
mod tenant_references;
mod writes;
