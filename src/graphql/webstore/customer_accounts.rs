//! Accounts of customers in the schema: signing up, in and out, renewal, and changes of password and e-mail
//! address.

use async_graphql::{Context, ID, InputObject, Object, Result, SimpleObject};

use super::customer::Customer;
use super::customers::{CustomerAddressInput, typed};
use crate::accounts::account_id::AccountKind;
use crate::accounts::brute_force_protection::{AttemptKind, AttemptOutcome};
use crate::graphql::attempts::{self, AttemptedLogin};
use crate::graphql::date_time::DateTime;
use crate::graphql::ids::GlobalId;
use crate::graphql::resolution::One;
use crate::graphql::scope::{self, RequestScope};
use crate::graphql::session::{self, Credentials, credentials};
use crate::graphql::writes::field_within_limit;
use crate::webstore::Webstore;
use crate::webstore::commands::{
    ChangeCustomerPassword, ChangeEmailAddress, CreateCustomer, SignInCustomer, WebstoreCommands,
};
use crate::webstore::ids::CustomerId;
use crate::webstore::items::CustomerItem;
use crate::webstore::write_limits;

/// The customer to sign up.
#[derive(InputObject)]
pub struct CreateCustomerInput {
    /// The form of address of the customer: 1 to 20 characters.
    pub title: Option<String>,
    /// 1 to 100 characters.
    pub first_name: String,
    /// 1 to 100 characters.
    pub last_name: String,
    /// The e-mail address, unique in any case: letters of one script, without invisible characters.
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

/// The customer to sign in.
#[derive(InputObject)]
pub struct SignInCustomerInput {
    /// The e-mail address, in any case.
    pub email_address: String,
    /// The password.
    pub password: String,
}

/// The session of a customer to renew.
#[derive(InputObject)]
pub struct RenewCustomerSessionInput {
    /// The refresh token of signing in, or of the last renewal.
    pub refresh_token: String,
}

/// The passwords of the signed-in customer.
#[derive(InputObject)]
pub struct ChangeCustomerPasswordInput {
    /// The password until now.
    pub current_password: String,
    /// 10 to 200 characters; another password than the current one, and no common password.
    pub new_password: String,
}

/// The new e-mail address of the signed-in customer.
#[derive(InputObject)]
pub struct ChangeCustomerEmailAddressInput {
    /// The e-mail address, unique in any case: letters of one script, without invisible characters.
    pub email_address: String,
    /// The password.
    pub current_password: String,
}

/// The result of signing up as a customer.
#[derive(SimpleObject)]
pub struct CreateCustomerPayload {
    /// The new customer.
    customer: One<Customer>,
    /// To be sent as `Authorization: Bearer`. It expires within the hour, unless the server is set otherwise.
    access_token: String,
    /// When the access token expires.
    expires_at: DateTime,
    /// Renews the access token until the session ends, by `renewCustomerSession`. To be kept secret. Null
    /// where the session cookie holds it.
    refresh_token: Option<String>,
}

/// The result of signing in as a customer.
#[derive(SimpleObject)]
pub struct SignInCustomerPayload {
    /// The customer who signed in.
    customer: One<Customer>,
    /// To be sent as `Authorization: Bearer`. It expires within the hour, unless the server is set otherwise.
    access_token: String,
    /// When the access token expires.
    expires_at: DateTime,
    /// Renews the access token until the session ends, by `renewCustomerSession`. To be kept secret. Null
    /// where the session cookie holds it.
    refresh_token: Option<String>,
}

/// The result of renewing a session of a customer.
#[derive(SimpleObject)]
pub struct RenewCustomerSessionPayload {
    /// The customer of the session.
    customer: One<Customer>,
    /// To be sent as `Authorization: Bearer`.
    access_token: String,
    /// When the access token expires.
    expires_at: DateTime,
    /// Takes the place of the refresh token that was sent. To be kept secret. Null where the session cookie
    /// holds it.
    refresh_token: Option<String>,
}

/// The result of signing out as a customer.
#[derive(SimpleObject)]
pub struct SignOutCustomerPayload {
    /// The id of the customer who signed out.
    customer_id: ID,
}

/// The result of changing a customer's password: a new session. All others have ended.
#[derive(SimpleObject)]
pub struct ChangeCustomerPasswordPayload {
    /// The customer whose password it is.
    customer: One<Customer>,
    /// To be sent as `Authorization: Bearer`.
    access_token: String,
    /// When the access token expires.
    expires_at: DateTime,
    /// Renews the access token until the session ends, by `renewCustomerSession`. To be kept secret. Null
    /// where the session cookie holds it.
    refresh_token: Option<String>,
}

/// The customer with the new e-mail address.
#[derive(SimpleObject)]
pub struct ChangeCustomerEmailAddressPayload {
    /// The customer.
    customer: One<Customer>,
}

/// The part of the root of all writes that is about the accounts of customers.
#[derive(Default)]
pub struct CustomerAccountMutation;

/// Writes of customers' accounts.
#[Object]
impl CustomerAccountMutation {
    /// Signs up as a customer, and signs in.
    async fn create_customer(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The customer to sign up.")] input: CreateCustomerInput,
    ) -> Result<Option<One<CreateCustomerPayload>>> {
        let scope = scope::for_write(ctx)?;
        let attempt = attempts::begin(ctx, AttemptKind::SignUp, &login(&input.email_address)).await?;
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
        let sessions = &scope.services().sessions;
        let created = commands(scope).sign_up_customer(command, sessions, scope.ledger()).await;
        let created = attempts::end(scope, attempt, created);
        let (customer, session) = created.map_err(|failure| scope.command_error(failure))?;
        let Credentials { access_token, expires_at, refresh_token } =
            credentials(ctx, customer.id.into(), &session)?;
        let customer = customer_of(customer);
        Ok(Some(One(CreateCustomerPayload { customer, access_token, expires_at, refresh_token })))
    }

    /// Signs in as a customer. A wrong address or password is `INVALID_CREDENTIALS`.
    async fn sign_in_customer(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The customer to sign in.")] input: SignInCustomerInput,
    ) -> Result<Option<One<SignInCustomerPayload>>> {
        let scope = scope::for_write(ctx)?;
        let SignInCustomerInput { email_address, password } = input;
        let attempt = attempts::begin(ctx, AttemptKind::SignIn, &login(&email_address)).await?;
        let caller = attempt.hashing_caller();
        let command = SignInCustomer { email_address, password, caller };
        let sessions = &scope.services().sessions;
        let signed_in = commands(scope).start_customer_session(command, sessions, scope.ledger()).await;
        let signed_in = attempts::end(scope, attempt, signed_in);
        let (customer, session) = signed_in.map_err(|failure| scope.command_error(failure))?;
        let Credentials { access_token, expires_at, refresh_token } =
            credentials(ctx, customer.id.into(), &session)?;
        let customer = customer_of(customer);
        Ok(Some(One(SignInCustomerPayload { customer, access_token, expires_at, refresh_token })))
    }

    /// Renews the access token of a customer's session. The refresh token is replaced by another one, and
    /// is good for a minute more; an older one ends the session.
    async fn renew_customer_session(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The session.")] input: RenewCustomerSessionInput,
    ) -> Result<Option<One<RenewCustomerSessionPayload>>> {
        let scope = scope::for_write(ctx)?;
        let token = session::parse_refresh_token(&input.refresh_token, AccountKind::Customer)?;
        // Read first, so that no fault comes after the rotation.
        let customer = customer_of(signed_in(scope, CustomerId(token.account().id)).await?);
        let Credentials { access_token, expires_at, refresh_token } = session::renew(ctx, &token).await?;
        Ok(Some(One(RenewCustomerSessionPayload { customer, access_token, expires_at, refresh_token })))
    }

    /// Signs out as a customer: ends the session of the access token that the request bears.
    async fn sign_out_customer(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Whether all other sessions of the customer end as well.", default = false)]
        everywhere: bool,
    ) -> Result<Option<One<SignOutCustomerPayload>>> {
        let scope = scope::of(ctx);
        let customer = scope.signed_in_customer()?;
        session::end(scope, customer.into(), everywhere).await?;
        let customer_id = GlobalId::Customer(customer).encode().into();
        Ok(Some(One(SignOutCustomerPayload { customer_id })))
    }

    /// Changes the password of the signed-in customer, ends all sessions of theirs, and starts another one.
    async fn change_customer_password(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Both passwords.")] input: ChangeCustomerPasswordInput,
    ) -> Result<Option<One<ChangeCustomerPasswordPayload>>> {
        let scope = scope::for_write(ctx)?;
        let customer_id = scope.signed_in_customer()?;
        let customer = signed_in(scope, customer_id).await?;
        let login = login(&customer.email_address);
        let attempt = attempts::begin(ctx, AttemptKind::SignIn, &login).await?;
        let command = ChangeCustomerPassword {
            customer_id,
            email_address: customer.email_address.clone(),
            current_password: input.current_password,
            new_password: input.new_password,
            caller: attempt.hashing_caller(),
        };
        let sessions = &scope.services().sessions;
        let changed = commands(scope).change_customer_password(command, sessions, scope.ledger()).await;
        let changed = attempts::end(scope, attempt, changed);
        let session = changed.map_err(|failure| scope.command_error(failure))?;
        let Credentials { access_token, expires_at, refresh_token } =
            credentials(ctx, customer_id.into(), &session)?;
        let customer = customer_of(customer);
        Ok(Some(One(ChangeCustomerPasswordPayload { customer, access_token, expires_at, refresh_token })))
    }

    /// Changes the e-mail address by which the signed-in customer signs in. Sessions go on.
    async fn change_customer_email_address(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new address.")] input: ChangeCustomerEmailAddressInput,
    ) -> Result<Option<One<ChangeCustomerEmailAddressPayload>>> {
        let scope = scope::for_write(ctx)?;
        let customer_id = scope.signed_in_customer()?;
        let limit = &write_limits::EMAIL_ADDRESS_CHANGES;
        let changing = change_email_address(ctx, customer_id, input);
        let customer = field_within_limit(scope, limit, customer_id, changing).await?;
        Ok(Some(One(ChangeCustomerEmailAddressPayload { customer: customer_of(customer) })))
    }
}

/// Changes the e-mail address. It compares a password, and it says whether the new address is taken:
/// both are attempts.
async fn change_email_address(
    ctx: &Context<'_>,
    customer_id: CustomerId,
    input: ChangeCustomerEmailAddressInput,
) -> Result<CustomerItem> {
    let scope = scope::of(ctx);
    let current = login(&signed_in(scope, customer_id).await?.email_address);
    let ChangeCustomerEmailAddressInput { email_address, current_password } = input;
    let sign_up = attempts::begin(ctx, AttemptKind::SignUp, &login(&email_address)).await?;
    let sign_in = match attempts::begin(ctx, AttemptKind::SignIn, &current).await {
        Ok(sign_in) => sign_in,
        Err(refused) => {
            sign_up.end(AttemptOutcome::NotJudged, scope.services().clock.now_ms());
            return Err(refused);
        }
    };
    let caller = sign_in.hashing_caller();
    let command = ChangeEmailAddress { customer_id, email_address, current_password, caller };
    let changed = commands(scope).change_email_address(command, scope.ledger()).await;
    let changed = attempts::end(scope, sign_in, attempts::end(scope, sign_up, changed));
    changed.map_err(|failure| scope.command_error(failure))
}

/// The login name of an attempt of a customer. Whether an address has an account is private.
fn login(email_address: &str) -> AttemptedLogin {
    let key = WebstoreCommands::login_key(email_address);
    AttemptedLogin { kind: AccountKind::Customer, key, is_private: true }
}

fn commands(scope: &RequestScope) -> &WebstoreCommands {
    let Webstore { commands, .. } = &scope.services().webstore;
    commands
}

/// The customer of a session.
async fn signed_in(scope: &RequestScope, id: CustomerId) -> Result<CustomerItem> {
    let customer = commands(scope).customer(id, scope.ledger()).await;
    customer.map_err(|fault| scope.fault(&fault))?.ok_or_else(session::no_session)
}

fn customer_of(item: CustomerItem) -> One<Customer> {
    One(Customer::new(item.into()))
}
