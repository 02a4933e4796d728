//! The roots of the schema: the queries and the mutations of all domains.

use async_graphql::{MergedObject, MergedSubscription};

use super::moderation::{ModerationMutation, ModerationQuery};
use super::mutation::BlogMutation;
use super::query::BlogQuery;
use super::subscription::BlogSubscription;
use super::webstore::customer_accounts::CustomerAccountMutation;
use super::webstore::customers::{CustomerMutation, CustomerQuery};
use super::webstore::mutation::WebstoreMutation;
use super::webstore::orders::SalesOrderMutation;
use super::webstore::query::WebstoreQuery;
use super::webstore::subscription::WebstoreSubscription;

/// Where every read begins. A field that fails is null, and hides no other.
#[derive(MergedObject, Default)]
pub struct Query(BlogQuery, ModerationQuery, WebstoreQuery, CustomerQuery);

/// Where every write begins. A command that fails is null, and hides no other.
#[derive(MergedObject, Default)]
pub struct Mutation(
    BlogMutation,
    ModerationMutation,
    WebstoreMutation,
    CustomerAccountMutation,
    CustomerMutation,
    SalesOrderMutation,
);

/// News of the blog and of the web store as they happen. A subscription begins with the events after its
/// beginning, and ends when there is nothing more to come. An event of the blog is sent when something that
/// was selected has changed.
#[derive(MergedSubscription, Default)]
pub struct Subscription(BlogSubscription, WebstoreSubscription);
