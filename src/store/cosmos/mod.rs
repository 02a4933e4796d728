//! The adapter for Azure Cosmos DB for NoSQL, on Microsoft's `azure_data_cosmos`.

mod client;
mod settings;

pub use client::{client_of, default_options, read_options};
pub use settings::{Consistency, CosmosSettings, Credential, Patience};
