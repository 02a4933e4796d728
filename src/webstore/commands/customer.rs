//! Customers: signing up, and changing their data. First the reservation of the e-mail address is written,
//! then the password, then the customer. The password's hash is in `accounts`: the content of the customer
//! travels through the change feed.

use crate::accounts::email_address::EmailAddress;
use crate::accounts::hashing_queue::HashingCaller;
use crate::accounts::password::Password;
use crate::domain::accounts::password_change::start_first_session;
use crate::domain::accounts::sessions::{NewSession, SessionStart, Sessions};
use crate::domain::digest::sha256_hex;
use crate::domain::error::{CommandError, InvalidFields, Refusal, contended};
use crate::domain::reservations::KeyClaim;
use crate::domain::text::IdempotencyKey;
use crate::webstore::containers::CUSTOMER;
use crate::webstore::ids::CustomerId;
use crate::webstore::items::{AddressItem, CustomerItem, EmailReservationItem, rank_key, types};
use onehop_runtime::clock::format_timestamp;
use onehop_store::Ledger;

use super::address::{TypedAddress, parse_addresses};
use super::holders::{StoredCustomer, reservation, reservation_id};
use super::text::{CustomerTitle, FirstName, LastName, PhoneNumber};
use super::{ItemAddress, WebstoreCommands};

/// Attempts of a sign-up with new ids after others had given it up for dead.
const SIGN_UP_ATTEMPTS_MAX: u32 = 8;

/// A new customer, as typed.
pub struct CreateCustomer {
    pub title: Option<String>,
    pub first_name: String,
    pub last_name: String,
    pub email_address: String,
    pub phone_number: Option<String>,
    pub password: String,
    pub addresses: Vec<TypedAddress>,
    pub idempotency_key: Option<String>,
    /// In whose turn the password is hashed.
    pub caller: HashingCaller,
}

/// The changes of a customer, as typed; fields that are `None` stay.
pub struct UpdateCustomer {
    pub customer_id: CustomerId,
    /// `Some(None)` removes the title.
    pub title: Option<Option<String>>,
    pub first_name: Option<String>,
    pub last_name: Option<String>,
    /// `Some(None)` removes the phone number.
    pub phone_number: Option<Option<String>>,
    pub addresses: Option<Vec<TypedAddress>>,
}

/// A new customer, as checked.
struct Checked {
    email_address: EmailAddress,
    password: Password,
    key_hash: Option<String>,
    /// Without id, date and password.
    profile: Profile,
}

struct Profile {
    title: Option<CustomerTitle>,
    first_name: FirstName,
    last_name: LastName,
    phone_number: Option<PhoneNumber>,
    addresses: Vec<AddressItem>,
}

impl WebstoreCommands {
    /// Creates a customer who can sign in with a password.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on any field; `CONFLICT` on `emailAddress` when it is taken, on `idempotencyKey` when
    /// a sign-up with this key had another password.
    pub async fn create_customer(
        &self,
        input: CreateCustomer,
        ledger: &Ledger,
    ) -> Result<CustomerItem, CommandError> {
        Ok(self.create_account(input, ledger).await?.0)
    }

    /// Creates a customer, and starts a session.
    ///
    /// # Errors
    /// As [`create_customer`](Self::create_customer).
    pub async fn sign_up_customer(
        &self,
        input: CreateCustomer,
        sessions: &Sessions,
        ledger: &Ledger,
    ) -> Result<(CustomerItem, NewSession), CommandError> {
        let network = input.caller.network();
        let (customer, password_version) = self.create_account(input, ledger).await?;
        let start = SessionStart { password_version, network };
        let session = start_first_session(sessions, customer.id.into(), start, ledger).await?;
        Ok((customer, session))
    }

    /// The customer, and the version of the password.
    async fn create_account(
        &self,
        input: CreateCustomer,
        ledger: &Ledger,
    ) -> Result<(CustomerItem, u64), CommandError> {
        let caller = input.caller;
        let checked = check(input)?;
        let hash = self.passwords.hash_for(caller, checked.password.clone()).await?.to_stored();
        let key = reservation_id(&checked.email_address);
        for _ in 0..SIGN_UP_ATTEMPTS_MAX {
            let id = CustomerId(self.new_id());
            let wanted = reservation(&key, id, checked.key_hash.clone());
            match self.customers.reservations().claim(&key, &wanted, ledger).await? {
                KeyClaim::Held { reservation, holder } => {
                    return self.first_sign_up(checked, caller, (&reservation, holder), ledger).await;
                }
                KeyClaim::Granted => {}
            }
            self.account_passwords.create(id.into(), &hash, None, ledger).await?;
            let customer = self.new_customer(id, &checked);
            if let Some(customer) = self.customers.create(&customer, ledger).await? {
                return Ok((customer, 0));
            }
            // Others gave this sign-up up: no customer ever has this id.
            self.account_passwords.remove(id.into(), ledger).await?;
        }
        Err(contended("the reservation of an e-mail address").into())
    }

    /// Changes the data of a customer.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on any field; `UNAUTHENTICATED` when the customer does not exist.
    pub async fn update_customer(
        &self,
        input: UpdateCustomer,
        ledger: &Ledger,
    ) -> Result<CustomerItem, CommandError> {
        let mut invalid = InvalidFields::default();
        let title = invalid.check(parse_change(input.title, CustomerTitle::parse));
        let first_name = invalid.check(input.first_name.map(FirstName::parse).transpose());
        let last_name = invalid.check(input.last_name.map(LastName::parse).transpose());
        let phone_number = invalid.check(parse_change(input.phone_number, PhoneNumber::parse));
        let addresses = invalid.check(input.addresses.map(parse_addresses).transpose());
        let (Some(title), Some(first_name), Some(last_name), Some(phone_number), Some(addresses)) =
            (title, first_name, last_name, phone_number, addresses)
        else {
            return Err(invalid.refusal().into());
        };
        let update = |customer: &CustomerItem| {
            let mut updated = customer.clone();
            if let Some(title) = &title {
                updated.title = title.as_ref().map(|title| title.as_str().to_owned());
            }
            if let Some(first_name) = &first_name {
                first_name.as_str().clone_into(&mut updated.first_name);
            }
            if let Some(last_name) = &last_name {
                last_name.as_str().clone_into(&mut updated.last_name);
            }
            if let Some(phone_number) = &phone_number {
                updated.phone_number = phone_number.as_ref().map(|number| number.as_str().to_owned());
            }
            if let Some(addresses) = &addresses {
                updated.addresses.clone_from(addresses);
            }
            if updated == *customer {
                return Ok(None);
            }
            updated.version += 1;
            Ok(Some(updated))
        };
        let (partition_key, id) = (input.customer_id.partition_key(), input.customer_id.to_string());
        let _turn = self.turns.wait(input.customer_id.0).await;
        self.change(
            ItemAddress { container: CUSTOMER, partition_key: &partition_key, item_type: types::CUSTOMER },
            &id,
            no_such_customer,
            update,
            ledger,
        )
        .await
    }

    fn new_customer(&self, id: CustomerId, checked: &Checked) -> CustomerItem {
        let profile = &checked.profile;
        CustomerItem {
            id,
            item_type: types::CUSTOMER.to_owned(),
            customer_id: id,
            title: profile.title.as_ref().map(|title| title.as_str().to_owned()),
            first_name: profile.first_name.as_str().to_owned(),
            last_name: profile.last_name.as_str().to_owned(),
            email_address: checked.email_address.as_str().to_owned(),
            phone_number: profile.phone_number.as_ref().map(|number| number.as_str().to_owned()),
            creation_date: format_timestamp(self.clock.now_ms()),
            addresses: profile.addresses.clone(),
            password: None,
            sales_order_count: 0,
            sort_key: rank_key(0),
            version: 1,
        }
    }

    /// The answer to a repeat: the customer of the first sign-up, for a client that knows key and password.
    /// To all others the address is taken.
    async fn first_sign_up(
        &self,
        checked: Checked,
        caller: HashingCaller,
        (reservation, holder): (&EmailReservationItem, StoredCustomer),
        ledger: &Ledger,
    ) -> Result<(CustomerItem, u64), CommandError> {
        if checked.key_hash.is_none() || reservation.idempotency_key_hash != checked.key_hash {
            return Err(address_taken().into());
        }
        let stored = self.stored_password(&holder.customer, ledger).await?;
        if self.passwords.verify_for(caller, checked.password, stored.hash()?).await? {
            return Ok((holder.customer, stored.version));
        }
        Err(Refusal::key_reused().into())
    }
}

/// Another customer has the address.
pub(super) fn address_taken() -> Refusal {
    Refusal::conflict("emailAddress", "this e-mail address is taken")
}

/// A change of an optional text: `None` keeps it, `Some(None)` removes it.
fn parse_change<T>(
    typed: Option<Option<String>>,
    parse: impl Fn(String) -> Result<T, Refusal>,
) -> Result<Option<Option<T>>, Refusal> {
    typed.map(|text| text.map(parse).transpose()).transpose()
}

/// A token outlived its customer.
pub(super) fn no_such_customer() -> Refusal {
    Refusal::unauthenticated("the signed-in customer does not exist")
}

fn check(input: CreateCustomer) -> Result<Checked, CommandError> {
    let mut invalid = InvalidFields::default();
    let title = invalid.check(input.title.map(CustomerTitle::parse).transpose());
    let first_name = invalid.check(FirstName::parse(input.first_name));
    let last_name = invalid.check(LastName::parse(input.last_name));
    let email_address = EmailAddress::choose(&input.email_address);
    let email_address = invalid.check(email_address.map_err(|rule| Refusal::bad_input("emailAddress", rule)));
    let phone_number = invalid.check(input.phone_number.map(PhoneNumber::parse).transpose());
    let password = Password::choose(&input.password, &input.email_address);
    let password = invalid.check(password.map_err(|rule| Refusal::bad_input("password", rule)));
    let addresses = invalid.check(parse_addresses(input.addresses));
    let key = invalid.check(input.idempotency_key.map(IdempotencyKey::parse).transpose());
    let (Some(title), Some(first_name), Some(last_name), Some(phone_number), Some(addresses)) =
        (title, first_name, last_name, phone_number, addresses)
    else {
        return Err(invalid.refusal().into());
    };
    let (Some(email_address), Some(password), Some(key)) = (email_address, password, key) else {
        return Err(invalid.refusal().into());
    };
    let key_hash = key.map(|key| sha256_hex(&[&email_address.key(), key.as_str()]));
    let profile = Profile { title, first_name, last_name, phone_number, addresses };
    Ok(Checked { email_address, password, key_hash, profile })
}
