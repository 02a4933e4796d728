//! Compiled plans: the same bytes, charges and response budget as the general executor.

mod documents;
mod items;
mod named;
mod shop;

use std::sync::Arc;
use std::time::Duration;

use async_graphql::{Request, Response, Variables};
use axum::http::HeaderMap;
use onehop::blog::ids::LikeId;
use onehop::graphql::GlobalId;
use onehop_graphql_server::caller::Caller;
use onehop_graphql_server::client_address::ClientAddress;
use onehop_graphql_server::document::Document;
use onehop_graphql_server::document_limits::DocumentLimits;
use onehop_graphql_server::pipeline::context::RequestContext;
use onehop_graphql_server::quota::Unmetered;
use onehop_graphql_server::service::GraphqlService as _;
use onehop_graphql_server::written_response::WrittenResponse;
use serde_json::Value;

use self::documents::RandomDocument;
use self::shop::customer_id;
use crate::support::blog::{Blog, comment_id, post_id, small, user_id};

/// The number of random documents that are compared.
const DOCUMENTS: u64 = 600;

/// A request that is answered in both ways.
struct Asked {
    document: Arc<Document>,
    operation: Option<&'static str>,
    variables: Value,
    /// The id of the caller, as the pipeline knows it.
    caller: Option<String>,
}

impl Asked {
    fn new(text: &str, variables: Value) -> Self {
        let document = Document::parse(text, &DocumentLimits::default()).expect(text);
        Self { document: Arc::new(document), operation: None, variables, caller: None }
    }

    fn context(&self, blog: &Blog) -> RequestContext {
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
        let validated = blog.executor.validate(&self.document, self.operation, context.variables());
        context.is_validated = validated.is_ok();
        context
    }

    async fn general(&self, blog: &Blog) -> (Response, usize) {
        let mut context = self.context(blog);
        let request = context.take_request();
        let context = Arc::new(context);
        let response = blog.executor.execute(request, &context).await;
        (response, context.budget.used())
    }

    async fn planned(&self, blog: &Blog) -> Option<(WrittenResponse, usize)> {
        let context = self.context(blog);
        let written = blog.executor.execute_plan(&context).await?;
        Some((written, context.budget.used()))
    }

    /// The data of the general executor, and whether a plan gave it, too.
    async fn compare(&self, blog: &Blog) -> (String, bool) {
        let (response, used) = self.general(blog).await;
        let data = serde_json::to_string(&response.data).unwrap();
        let Some((written, planned_used)) = self.planned(blog).await else { return (data, false) };
        let case = || format!("{:?} {}", self.document.definitions, self.variables);
        assert!(response.errors.is_empty(), "{:?} {}", response.errors, case());
        assert_eq!(std::str::from_utf8(written.data.json()).unwrap(), data, "{}", case());
        assert_eq!(written.extensions, response.extensions, "{}", case());
        assert_eq!(planned_used, used, "{}", case());
        (data, true)
    }
}

/// The data that both ways give; a plan has to.
async fn planned(blog: &Blog, text: &str, variables: Value) -> Value {
    let (data, is_planned) = Asked::new(text, variables).compare(blog).await;
    assert!(is_planned, "no plan: {text}");
    serde_json::from_str(&data).unwrap()
}

/// The data that the general executor gives where there is no plan.
async fn unplanned(blog: &Blog, text: &str, variables: Value) -> Value {
    let (data, is_planned) = Asked::new(text, variables).compare(blog).await;
    assert!(!is_planned, "a plan: {text}");
    serde_json::from_str(&data).unwrap()
}

/// The id of the second comment on a post as clients see it.
fn comment_node(post: u128) -> String {
    let post = post_id(post);
    GlobalId::Comment(post, comment_id(post, 1)).encode()
}

/// The id of the like that the second user may have given a post, as clients see it.
fn like_node(post: u128) -> String {
    let post = post_id(post);
    GlobalId::Like(post, LikeId::derive(post, user_id(1))).encode()
}

/// The caller of a document: an anonymous one for half of them, otherwise a user or a customer.
fn caller_of(seed: u64) -> Option<String> {
    match seed % 6 {
        0 | 3 => Some(user_id(usize::from(seed.is_multiple_of(2))).to_string()),
        1 => Some(format!("customer:{}", customer_id(u128::from(seed % 4 == 3)))),
        _ => None,
    }
}

#[tokio::test]
async fn random_documents_have_the_same_answer_from_a_plan() {
    let blog = small().await;
    blog.add_random_posts(17).await;
    blog.add_shop().await;
    let (mut valid, mut by_plan) = (0_u32, 0_u32);
    for seed in 0..DOCUMENTS {
        let RandomDocument { text, variables } = RandomDocument::of(seed);
        let Ok(document) = Document::parse(&text, &DocumentLimits::default()) else { continue };
        let caller = caller_of(seed);
        let asked = Asked { document: Arc::new(document), operation: None, variables, caller };
        let (_, is_planned) = asked.compare(&blog).await;
        valid += u32::from(asked.document.is_valid());
        by_plan += u32::from(is_planned);
    }
    assert!(valid > 250 && by_plan * 2 > valid, "{by_plan} of {valid} valid documents by plans");
}
