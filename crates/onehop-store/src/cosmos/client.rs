//! Client of an account, built from settings.

use std::sync::Arc;
use std::time::Duration;

use azure_core::credentials::{Secret, TokenCredential};
use azure_core::http::new_http_client;
use azure_data_cosmos::options::{
    BinaryEncodingOptions, EndToEndOperationLatencyPolicy, OperationOptions, OperationOptionsBuilder,
    PriorityLevel, ReadConsistencyStrategy, Region, ThrottlingRetryOptionsBuilder,
    ThroughputControlOptionsBuilder,
};
use azure_data_cosmos::{AccountEndpoint, AccountReference, CosmosClient, RoutingStrategy};
use azure_identity::{
    DeveloperToolsCredential, ManagedIdentityCredential, ManagedIdentityCredentialOptions, UserAssignedId,
    WorkloadIdentityCredential,
};

use onehop_runtime::clock::{Clock as _, SystemClock};

use super::account::{AccountReader, RequestCredential};
use super::settings::{BackgroundSettings, Consistency, CosmosSettings, Credential, RetryPolicy};
use crate::{Fault, FaultKind};

/// Connects to an account. The account is asked for its regions.
///
/// # Errors
/// An endpoint that is no URL, a credential that is not to be had, an account that does not answer or has
/// several write regions.
pub async fn client_of(settings: &CosmosSettings) -> Result<CosmosClient, Fault> {
    let endpoint: AccountEndpoint = settings
        .endpoint
        .parse()
        .map_err(|error| setting_fault("the endpoint of the account is not a URL", error))?;
    let credential = match &settings.credential {
        Credential::Key(key) => RequestCredential::Key(Secret::new(key.clone())),
        credential => RequestCredential::Token(token_credential(credential)?),
    };
    let account = match credential.clone() {
        RequestCredential::Key(key) => AccountReference::with_authentication_key(endpoint, key),
        RequestCredential::Token(credential) => AccountReference::with_credential(endpoint, credential),
    };
    let regions = settings.preferred_regions.iter().map(|region| Region::new(region.clone())).collect();
    let client = CosmosClient::builder()
        .with_default_operation_options(default_options(settings.retry_policy))
        .with_binary_encoding_options(encoding(settings.binary_encoding))
        .build(account, RoutingStrategy::PreferredRegions(regions))
        .await
        .map_err(|error| setting_fault("the account cannot be reached", error))?;
    let reader = AccountReader::new(new_http_client(None), client.endpoint().clone(), credential);
    refuse_several_write_regions(&reader, settings.retry_policy.operation_max).await?;
    Ok(client)
}

/// An account whose resource cannot be read is used: the client reached it, and an emulator's certificate is
/// accepted by the client alone.
async fn refuse_several_write_regions(account: &AccountReader, timeout: Duration) -> Result<(), Fault> {
    match account.write_regions(SystemClock.now_ms(), timeout).await {
        Ok(regions) => regions.require_one(),
        Err(error) => {
            tracing::warn!(%error, "unknown whether the account has several write regions, which would lose writes");
            Ok(())
        }
    }
}

/// The default options of every operation.
#[must_use]
pub fn default_options(retry_policy: RetryPolicy) -> OperationOptions {
    // The client would wait past any budget for a last try; see `retries`.
    let throttling = ThrottlingRetryOptionsBuilder::new().with_max_retry_count(0).build();
    OperationOptionsBuilder::new()
        .with_throttling_retry_options(throttling)
        .with_end_to_end_latency_policy(EndToEndOperationLatencyPolicy::new(retry_policy.operation_max))
        .build()
}

/// The encoding of items. The adapter gets text under either encoding of the service.
#[must_use]
pub fn encoding(binary: bool) -> BinaryEncodingOptions {
    BinaryEncodingOptions::new().with_enabled(binary).with_request_text_response(true)
}

/// The same for reads.
pub(super) fn read_options(consistency: Consistency) -> OperationOptions {
    let strategy = match consistency {
        Consistency::Account => return OperationOptions::default(),
        Consistency::Eventual => ReadConsistencyStrategy::Eventual,
        Consistency::Session => ReadConsistencyStrategy::Session,
        Consistency::LatestCommitted => ReadConsistencyStrategy::LatestCommitted,
    };
    OperationOptionsBuilder::new().with_read_consistency_strategy(strategy).build()
}

/// The options of an operation that yields to requests.
pub(super) fn background_options(
    consistency: Option<Consistency>,
    background: BackgroundSettings,
) -> OperationOptions {
    let mut control = ThroughputControlOptionsBuilder::new().with_priority_level(PriorityLevel::Low);
    if let Some(bucket) = background.throughput_bucket {
        control = control.with_throughput_bucket(bucket);
    }
    let mut options = consistency.map(read_options).unwrap_or_default();
    options.throughput_control = Some(control.build());
    options
}

fn token_credential(credential: &Credential) -> Result<Arc<dyn TokenCredential>, Fault> {
    let made: azure_core::Result<Arc<dyn TokenCredential>> = match credential {
        Credential::ManagedIdentity { client_id } => {
            let user_assigned_id = client_id.clone().map(UserAssignedId::ClientId);
            let options = ManagedIdentityCredentialOptions { user_assigned_id, ..Default::default() };
            ManagedIdentityCredential::new(Some(options)).map(|credential| credential as _)
        }
        Credential::WorkloadIdentity => {
            WorkloadIdentityCredential::new(None).map(|credential| credential as _)
        }
        Credential::DeveloperTools => DeveloperToolsCredential::new(None).map(|credential| credential as _),
        Credential::Key(_) => unreachable!("an account key is no token credential"),
    };
    made.map_err(|error| setting_fault("the credential cannot be used", error))
}

fn setting_fault(message: &str, error: impl std::error::Error + Send + Sync + 'static) -> Fault {
    Fault::new(FaultKind::Unavailable, message).with_source(error)
}
