//! Lets pages read: within the budget of whoever asks for them, and only where nothing waits for its turn. A page does without
//! what it may not read.

use axum::http::{Extensions, HeaderMap};

use super::pages::PageReads;
use onehop_graphql_server::admission::Admitted;
use onehop_graphql_server::callers::Bill;
use onehop_graphql_server::graphql_http::GraphqlEndpoint;
use onehop_graphql_server::graphql_service::{Account, RequestRejection};

/// The right to read for a page, and who pays.
struct Reading {
    bill: Bill,
    _admitted: Admitted,
}

impl PageReads for GraphqlEndpoint {
    fn admit(&self, headers: &HeaderMap, extensions: &Extensions) -> Option<Box<dyn Account>> {
        let bill = self.bill(headers, extensions);
        // Whoever navigates to a page sends no token.
        bill.open(None).ok()?;
        let admitted = self.admission().admit_at_once()?;
        Some(Box::new(Reading { bill, _admitted: admitted }))
    }
}

impl Account for Reading {
    fn open(&self, caller: Option<&str>) -> Result<(), RequestRejection> {
        self.bill.open(caller)
    }

    fn charge(&self, request_charge: f64) {
        self.bill.charge(request_charge);
    }
}
