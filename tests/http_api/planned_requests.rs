//! Requests that are answered in both ways: by a compiled plan, and by the general executor.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_graphql::{Request, Response, Variables};
use async_graphql_value::ConstValue;
use axum::http::HeaderMap;
use onehop_graphql_server::caller::Caller;
use onehop_graphql_server::client_address::ClientAddress;
use onehop_graphql_server::document::Document;
use onehop_graphql_server::document_limits::DocumentLimits;
use onehop_graphql_server::pipeline::context::RequestContext;
use onehop_graphql_server::quota::Unmetered;
use onehop_graphql_server::service::GraphqlService;
use onehop_graphql_server::written_response::WrittenResponse;
use serde_json::Value;

/// A request that is answered in both ways.
pub struct Asked {
    pub document: Arc<Document>,
    pub operation: Option<&'static str>,
    pub variables: Value,
    /// The id of the caller, as the pipeline knows it.
    pub caller: Option<String>,
    /// Whether the operations on the store have an order.
    pub is_ordered: bool,
    pub text: String,
}

impl Asked {
    /// A request with this document.
    pub fn new(text: &str, variables: Value) -> Self {
        Self::within_limits(text, variables).expect(text)
    }

    /// The same; `None` for a document that is no document or beyond the limits.
    pub fn within_limits(text: &str, variables: Value) -> Option<Self> {
        let document = Arc::new(Document::parse(text, &DocumentLimits::default()).ok()?);
        let text = text.to_owned();
        Some(Self { document, operation: None, variables, caller: None, is_ordered: true, text })
    }

    /// The extensions of a response, in which the operations on the store have an order.
    fn extensions(&self, extensions: &BTreeMap<String, ConstValue>) -> BTreeMap<String, ConstValue> {
        let mut ordered = extensions.clone();
        if let (Some(ConstValue::List(operations)), false) = (ordered.get_mut("operations"), self.is_ordered)
        {
            operations.sort_by_key(ToString::to_string);
        }
        ordered
    }

    fn context(&self, service: &dyn GraphqlService) -> RequestContext {
        let mut request = Request::new("").variables(Variables::from_json(self.variables.clone()));
        request.operation_name = self.operation.map(str::to_owned);
        request.extensions.insert("operations".to_owned(), async_graphql::Value::from(true));
        let (headers, quota) = (HeaderMap::new(), Arc::new(Unmetered));
        let document = Arc::clone(&self.document);
        let mut context = RequestContext::new(ClientAddress::UNKNOWN, headers, document, request, quota)
            .expect("an operation");
        let valid_for = Duration::from_secs(3600);
        let caller =
            self.caller.clone().map(|id| Caller { id, valid_for, session: None, is_new: false, rights: 0 });
        context.caller = caller.map(Arc::new);
        let validated = service.validate(&self.document, self.operation, context.variables());
        context.is_validated = validated.is_ok();
        context
    }

    /// The answer of the general executor, and the bytes that it took from the response budget.
    pub async fn general(&self, service: &dyn GraphqlService) -> (Response, usize) {
        let mut context = self.context(service);
        let request = context.take_request();
        let context = Arc::new(context);
        let response = service.execute(request, &context).await;
        (response, context.budget.used())
    }

    /// The answer of a plan, and the bytes that it took from the response budget.
    pub async fn planned(&self, service: &dyn GraphqlService) -> Option<(WrittenResponse, usize)> {
        let context = self.context(service);
        let written = service.execute_plan(&context).await?;
        Some((written, context.budget.used()))
    }

    /// The data of both answers, and whether a plan gave one. Both are equal in their data, their extensions
    /// and their use of the response budget.
    pub async fn compare(&self, service: &dyn GraphqlService) -> (String, bool) {
        let (response, used) = self.general(service).await;
        let data = serde_json::to_string(&response.data).unwrap();
        let Some((written, planned_used)) = self.planned(service).await else {
            return (data, false);
        };
        let case = || format!("{} {} {:?}", self.text, self.variables, self.caller);
        assert!(response.errors.is_empty(), "{:?} {}", response.errors, case());
        assert_eq!(std::str::from_utf8(written.data.json()).unwrap(), data, "{}", case());
        let extensions = self.extensions(&response.extensions);
        assert_eq!(self.extensions(&written.extensions), extensions, "{}", case());
        assert_eq!(planned_used, used, "{}", case());
        (data, true)
    }
}
