//! Customers in the schema: who sees them, and how they sign up, sign in and change.

use async_graphql::{Context, ID, InputObject, Object, Result, SimpleObject};

use super::customer::{Customer, CustomerConnection};
use super::nodes;
use super::staff;
use crate::accounts::brute_force_protection::AttemptOutcome;
use crate::accounts::email_address::EmailAddress;
use crate::accounts::session::RefreshToken;
use crate::accounts::subject::TokenSubject;
use crate::graphql::attempts;
use crate::graphql::connections::PageArguments;
use crate::graphql::errors::bad_input;
use crate::graphql::ids::{GlobalId, InvalidId};
use crate::graphql::resolution::{All, One};
use crate::graphql::scope::{self, RequestScope};
use crate::webstore::commands::{CreateCustomer, SignInCustomer, TypedAddress, UpdateCustomer};
use crate::webstore::ids::CustomerId;
use onehop_store::{Fault, FaultKind};

/// The part of the root of all reads that is about customers.
#[derive(Default)]
pub struct CustomerQuery;

/// Reads of customers.
#[Object]
impl CustomerQuery {
    /// The signed-in customer; null for all others.
    async fn viewer_customer(&self, ctx: &Context<'_>) -> Result<Option<One<Customer>>> {
        let scope = scope::of(ctx);
        match scope.customer() {
            Some(id) => Ok(nodes::customer_of(scope, id).await?.map(One)),
            None => Ok(None),
        }
    }

    /// A customer, for oneself and for staff; null for all others.
    async fn customer(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The customer's id.")] id: ID,
    ) -> Result<Option<One<Customer>>> {
        match GlobalId::decode(&id) {
            Ok(GlobalId::Customer(id)) => Ok(nodes::customer(scope::of(ctx), id).await?.map(One)),
            Ok(_) => Err(bad_input("id", "is not the id of a customer")),
            Err(InvalidId) => Err(bad_input("id", InvalidId)),
        }
    }

    /// The customers with most orders, at most 100. They follow orders within moments. For staff.
    async fn top_customers(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many customers, 1 to 100.", default = 10)] first: i32,
        #[graphql(desc = "The cursor after which the page begins.")] after: Option<String>,
    ) -> Result<Option<One<CustomerConnection>>> {
        let scope = scope::of(ctx);
        staff::member(scope)?;
        let page = PageArguments { first, after }.parse::<Customer>()?;
        let customers = scope.services().webstore.reads.top_customers(&page, scope.ledger()).await;
        let customers = customers.map_err(|fault| scope.fault(&fault))?;
        Ok(Some(One(CustomerConnection::new(customers, &page, Customer::new))))
    }

    /// The customers with most orders by a query of all partitions, as the article has it, to be compared. For staff.
    async fn top_customers_across_partitions(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many customers, 1 to 100.", default = 10)] first: i32,
    ) -> Result<Option<All<Customer>>> {
        let scope = scope::of(ctx);
        staff::member(scope)?;
        let page = PageArguments { first, after: None }.parse::<Customer>()?;
        let reads = &scope.services().webstore.reads;
        let customers = reads.top_customers_across_partitions(&page, scope.ledger()).await;
        let customers = customers.map_err(|fault| scope.fault(&fault))?;
        Ok(Some(All(customers.into_iter().map(Customer::new).collect())))
    }
}

/// A postal address.
#[derive(InputObject)]
pub struct CustomerAddressInput {
    /// Street and number: 1 to 200 characters.
    pub address_line1: String,
    /// What does not fit into the first line: 1 to 200 characters.
    pub address_line2: Option<String>,
    /// The city: 1 to 200 characters.
    pub city: String,
    /// The state or province: 1 to 200 characters.
    pub state: Option<String>,
    /// The country: 1 to 200 characters.
    pub country: String,
    /// The postal code: 1 to 20 characters.
    pub zip_code: String,
}

/// Who signs up as a customer.
#[derive(InputObject)]
pub struct CreateCustomerInput {
    /// How to address the customer: 1 to 20 characters.
    pub title: Option<String>,
    /// 1 to 100 characters.
    pub first_name: String,
    /// 1 to 100 characters.
    pub last_name: String,
    /// The e-mail address, unique whatever its case.
    pub email_address: String,
    /// 1 to 40 characters.
    pub phone_number: Option<String>,
    /// 10 to 200 characters; no common password.
    pub password: String,
    /// At most 10.
    pub addresses: Option<Vec<CustomerAddressInput>>,
    /// A repeat with the same key and password returns the first outcome.
    pub idempotency_key: Option<String>,
}

/// Which customer signs in.
#[derive(InputObject)]
pub struct SignInCustomerInput {
    /// The e-mail address, in any case.
    pub email_address: String,
    /// The password.
    pub password: String,
}

/// How the signed-in customer changes; what is left out stays.
#[derive(InputObject)]
pub struct UpdateCustomerInput {
    /// 1 to 20 characters.
    pub title: Option<String>,
    /// 1 to 100 characters.
    pub first_name: Option<String>,
    /// 1 to 100 characters.
    pub last_name: Option<String>,
    /// 1 to 40 characters.
    pub phone_number: Option<String>,
    /// All addresses that the customer has from now on, at most 10.
    pub addresses: Option<Vec<CustomerAddressInput>>,
}

/// What signing up as a customer made.
#[derive(SimpleObject)]
pub struct CreateCustomerPayload {
    /// The new customer.
    customer: One<Customer>,
    /// To be sent as `Authorization: Bearer`. It expires within the hour, unless the server is set otherwise.
    access_token: String,
}

/// What signing in as a customer gave.
#[derive(SimpleObject)]
pub struct SignInCustomerPayload {
    /// The customer who signed in.
    customer: One<Customer>,
    /// To be sent as `Authorization: Bearer`. It expires within the hour, unless the server is set otherwise.
    access_token: String,
}

/// The customer who was changed.
#[derive(SimpleObject)]
pub struct UpdateCustomerPayload {
    /// The customer.
    customer: One<Customer>,
}

/// The part of the root of all writes that is about customers.
#[derive(Default)]
pub struct CustomerMutation;

/// Writes of customers.
#[Object]
impl CustomerMutation {
    /// Signs up as a customer, and signs in.
    async fn create_customer(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Who signs up.")] input: CreateCustomerInput,
    ) -> Result<Option<One<CreateCustomerPayload>>> {
        let scope = scope::for_write(ctx)?;
        let attempt = attempts::begin(ctx, AttemptOutcome::SignUp, key(&input.email_address).as_deref())?;
        let command = CreateCustomer {
            title: input.title,
            first_name: input.first_name,
            last_name: input.last_name,
            email_address: input.email_address,
            phone_number: input.phone_number,
            password: input.password,
            addresses: input.addresses.unwrap_or_default().into_iter().map(typed).collect(),
            idempotency_key: input.idempotency_key,
            caller: attempt.hashing_caller(),
        };
        let created = scope.services().webstore.commands.create_customer(command, scope.ledger()).await;
        let created = attempts::unless_failed(scope, attempt, created);
        let customer = created.map_err(|failure| scope.command_error(failure))?;
        let access_token = access_token(scope, customer.id)?;
        Ok(Some(One(CreateCustomerPayload { customer: One(Customer::new(customer.into())), access_token })))
    }

    /// Signs in as a customer. A wrong address or password is `INVALID_CREDENTIALS`.
    async fn sign_in_customer(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Who signs in.")] input: SignInCustomerInput,
    ) -> Result<Option<One<SignInCustomerPayload>>> {
        let scope = scope::for_write(ctx)?;
        let SignInCustomerInput { email_address, password } = input;
        let attempt = attempts::begin(ctx, AttemptOutcome::SignIn, key(&email_address).as_deref())?;
        let command = SignInCustomer { email_address, password, caller: attempt.hashing_caller() };
        let signed_in = scope.services().webstore.commands.sign_in_customer(command, scope.ledger()).await;
        let signed_in = attempts::unless_failed(scope, attempt, signed_in);
        let customer = signed_in.map_err(|failure| scope.command_error(failure))?;
        let access_token = access_token(scope, customer.id)?;
        Ok(Some(One(SignInCustomerPayload { customer: One(Customer::new(customer.into())), access_token })))
    }

    /// Changes the data of the signed-in customer; what is left out stays.
    async fn update_customer(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The changes.")] input: UpdateCustomerInput,
    ) -> Result<Option<One<UpdateCustomerPayload>>> {
        let scope = scope::for_write(ctx)?;
        let UpdateCustomerInput { title, first_name, last_name, phone_number, addresses } = input;
        let command = UpdateCustomer {
            customer_id: scope.signed_in_customer()?,
            title,
            first_name,
            last_name,
            phone_number,
            addresses: addresses.map(|addresses| addresses.into_iter().map(typed).collect()),
        };
        let updated = scope.services().webstore.commands.update_customer(command, scope.ledger()).await;
        let customer = updated.map_err(|failure| scope.command_error(failure))?;
        Ok(Some(One(UpdateCustomerPayload { customer: One(Customer::new(customer.into())) })))
    }
}

/// The key under which attempts at an address count; it is none of a username.
fn key(email_address: &str) -> Option<String> {
    EmailAddress::parse(email_address).ok().map(|address| format!("email:{}", address.key()))
}

fn typed(input: CustomerAddressInput) -> TypedAddress {
    let CustomerAddressInput { address_line1, address_line2, city, state, country, zip_code } = input;
    TypedAddress { address_line1, address_line2, city, state, country, zip_code }
}

/// An access token of a customer. It has no session that could end before it expires.
fn access_token(scope: &RequestScope, id: CustomerId) -> Result<String> {
    let services = scope.services();
    let session = RefreshToken::random(id.0).map_err(|error| {
        scope.fault(&Fault::new(FaultKind::Internal, "the system gave no random bytes").with_source(error))
    })?;
    let subject = TokenSubject::Customer(id.0).to_string();
    let token = services.tokens.issue(&subject, session.session_id(), services.clock.now_ms());
    let token = token.map_err(|error| {
        scope.fault(&Fault::new(FaultKind::Internal, "no access token could be issued").with_source(error))
    })?;
    Ok(token.into_string())
}
