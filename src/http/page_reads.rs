//! Lets pages read: within the quota of the client, and only where nothing waits for its turn. A refused read
//! leaves the page without its data.

use axum::http::{Extensions, HeaderMap};

use super::pages::PageReads;
use onehop_graphql_server::caller::{Caller, RequestRejection};
use onehop_graphql_server::endpoint::GraphqlEndpoint;
use onehop_graphql_server::pipeline::admit::ExecutionPermit;
use onehop_graphql_server::pipeline::rate_limit::RequestQuota;
use onehop_graphql_server::quota::QuotaAccount;

/// The right to read for a page, and who pays.
struct Reading {
    quota: RequestQuota,
    _permit: ExecutionPermit,
}

impl PageReads for GraphqlEndpoint {
    fn admit(&self, headers: &HeaderMap, extensions: &Extensions) -> Option<Box<dyn QuotaAccount>> {
        let quota = self.request_quota(headers, extensions);
        // A browser that navigates to a page sends no token.
        quota.open(None).ok()?;
        let permit = self.concurrency_limit().admit_at_once()?;
        Some(Box::new(Reading { quota, _permit: permit }))
    }
}

impl QuotaAccount for Reading {
    fn open(&self, caller: Option<&Caller>) -> Result<(), RequestRejection> {
        self.quota.open(caller)
    }

    fn check(&self) -> Result<(), RequestRejection> {
        self.quota.check()
    }

    fn charge(&self, request_charge: f64) {
        self.quota.charge(request_charge);
    }
}
