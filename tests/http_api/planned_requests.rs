//! Requests that are answered in both ways: by a compiled plan, and by the general executor.

use std::sync::Arc;
use std::time::Duration;

use async_graphql::{Request, Response, Variables};
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
}

/// The answers to a request, which are equal where there are two.
pub struct Answers {
    pub response: Response,
    pub data: String,
    pub is_planned: bool,
}

impl Asked {
    /// A request with this document.
    pub fn new(text: &str, variables: Value) -> Self {
        let document = Document::parse(text, &DocumentLimits::default()).expect(text);
        Self { document: Arc::new(document), operation: None, variables, caller: None }
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
        let caller = self.caller.clone().map(|id| Caller { id, valid_for, session: None, is_new: false });
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

    /// Both answers, which are equal in their data, their extensions and their use of the response budget.
    pub async fn compare(&self, service: &dyn GraphqlService) -> Answers {
        let (response, used) = self.general(service).await;
        let data = serde_json::to_string(&response.data).unwrap();
        let Some((written, planned_used)) = self.planned(service).await else {
            return Answers { response, data, is_planned: false };
        };
        let case = || format!("{:?} {} {:?}", self.document.definitions, self.variables, self.caller);
        assert!(response.errors.is_empty(), "{:?} {}", response.errors, case());
        assert_eq!(std::str::from_utf8(written.data.json()).unwrap(), data, "{}", case());
        assert_eq!(written.extensions, response.extensions, "{}", case());
        assert_eq!(planned_used, used, "{}", case());
        Answers { response, data, is_planned: true }
    }
}
