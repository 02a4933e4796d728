//! The accounts of customers: signing in, changing the password, changing the e-mail address, by the
//! protocols of all [accounts](crate::domain::accounts).
//!
//! A change of the address reads the customer, claims the new address, and then replaces the customer as it
//! was read. A judge of the claim rewrites the customer first, so that either the claim or the judgement
//! holds (see [`crate::domain::reservations`]). A process that dies in between leaves an address that the
//! next claim takes over.

use async_trait::async_trait;

use super::WebstoreCommands;
use super::customer::address_taken;
use super::holders::{StoredCustomer, reservation, reservation_id};
use crate::accounts::email_address::EmailAddress;
use crate::accounts::hashing_queue::HashingCaller;
use crate::accounts::password::{Password, PasswordHash};
use crate::domain::accounts::password_change::{PasswordChange, change_password, start_session};
use crate::domain::accounts::passwords::{AccountPasswords, PasswordHolder, StoredPassword, wrong_password};
use crate::domain::accounts::sessions::{NewSession, Sessions};
use crate::domain::conditional_write::{ATTEMPTS_MAX, WriteAttempt};
use crate::domain::error::{CommandError, Refusal, contended};
use crate::domain::reservations::{HolderLookup, KeyClaim};
use crate::webstore::ids::CustomerId;
use crate::webstore::items::CustomerItem;
use onehop_store::{ETag, Fault, Ledger, OperationRecord, RequestCharge};

/// The charge of a point read of a small item. An emulator charges nothing for a missing one.
const POINT_READ_MIN: RequestCharge = RequestCharge(1.0);

/// Sign-in input of a customer.
pub struct SignInCustomer {
    pub email_address: String,
    pub password: String,
    /// In whose turn the password is hashed.
    pub caller: HashingCaller,
}

/// The passwords of the signed-in customer, as typed.
pub struct ChangeCustomerPassword {
    pub customer_id: CustomerId,
    /// The address that the customer has, of which no password is made.
    pub email_address: String,
    pub current_password: String,
    pub new_password: String,
    pub caller: HashingCaller,
}

/// The new e-mail address of the signed-in customer, as typed.
pub struct ChangeEmailAddress {
    pub customer_id: CustomerId,
    pub email_address: String,
    pub current_password: String,
    /// In whose turn the password is hashed.
    pub caller: HashingCaller,
}

/// The password of a customer, in an item of its own.
struct CustomerPassword<'a> {
    commands: &'a WebstoreCommands,
    customer: CustomerId,
}

impl WebstoreCommands {
    /// The customer with this address and password.
    ///
    /// # Errors
    /// `INVALID_CREDENTIALS`, for every failure, after the same work.
    pub async fn sign_in_customer(
        &self,
        input: SignInCustomer,
        ledger: &Ledger,
    ) -> Result<CustomerItem, CommandError> {
        Ok(self.identified(input, ledger).await?.0)
    }

    /// The customer with this address and password, and a new session.
    ///
    /// # Errors
    /// As [`sign_in_customer`](Self::sign_in_customer).
    pub async fn start_customer_session(
        &self,
        input: SignInCustomer,
        sessions: &Sessions,
        ledger: &Ledger,
    ) -> Result<(CustomerItem, NewSession), CommandError> {
        let network = input.caller.network();
        let (customer, compared) = self.identified(input, ledger).await?;
        let session = start_session(sessions, customer.id.into(), &compared, network, ledger).await?;
        Ok((customer, session.ok_or_else(refused)?))
    }

    async fn identified(
        &self,
        input: SignInCustomer,
        ledger: &Ledger,
    ) -> Result<(CustomerItem, StoredPassword), CommandError> {
        let reads = ledger.part();
        let outcome = self.identify(input, &reads).await;
        record_sign_in(&reads, matches!(outcome, Ok(Some(_))), ledger);
        let (customer, compared) = outcome?.ok_or_else(refused)?;
        Ok((self.customers.move_password(customer, ledger).await?, compared))
    }

    /// The key of an address among login names: equal for all forms of one address; `None` for a text that is
    /// no address.
    #[must_use]
    pub fn login_key(address: &str) -> Option<String> {
        EmailAddress::parse(address).ok().map(|address| reservation_id(&address))
    }

    /// The customer for whom an address is reserved, by its [key](Self::login_key).
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn customer_of_address(&self, key: &str, ledger: &Ledger) -> Result<Option<CustomerId>, Fault> {
        let found = self.customers.reservations().find(key, ledger).await?;
        Ok(found.map(|(reservation, _)| reservation.customer_id))
    }

    /// The customer of a session, also where a replica that lags lacks a new one.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn customer(&self, id: CustomerId, ledger: &Ledger) -> Result<Option<CustomerItem>, Fault> {
        Ok(match self.customers.read(id, ledger).await? {
            HolderLookup::Found(stored) => Some(stored.customer),
            HolderLookup::Missing | HolderLookup::Abandoned => None,
        })
    }

    /// The customer of an address and a password. There are three point reads, whether there is one or not.
    async fn identify(
        &self,
        input: SignInCustomer,
        ledger: &Ledger,
    ) -> Result<Option<(CustomerItem, StoredPassword)>, CommandError> {
        let customer = self.customer_with(&input.email_address, ledger).await?;
        let id = customer.as_ref().map_or(nobody(), |customer| customer.id);
        let found = self.account_passwords.find(id.into(), ledger).await?;
        let identified = customer.map(|customer| {
            let stored = found.unwrap_or_else(|| embedded_password(&customer));
            (customer, stored)
        });
        let hash = identified.as_ref().map(|(_, stored)| stored.hash()).transpose()?.flatten();
        let password = Password::attempt(&input.password);
        let is_accepted = self.passwords.verify_for(input.caller, password, hash).await?;
        Ok(identified.filter(|_| is_accepted))
    }

    /// The customer who has an address.
    async fn customer_with(&self, address: &str, ledger: &Ledger) -> Result<Option<CustomerItem>, Fault> {
        let key = match EmailAddress::parse(address) {
            Ok(address) => reservation_id(&address),
            Err(_) => "email:".to_owned(),
        };
        let reserved = self.signing_in.reservations().find(&key, ledger).await?;
        let id = reserved.map_or(nobody(), |(reservation, _)| reservation.customer_id);
        Ok(match self.signing_in.read(id, ledger).await? {
            // A reservation that its customer has left opens no door.
            HolderLookup::Found(stored) => {
                Some(stored.customer).filter(|customer| has_address(customer, &key))
            }
            HolderLookup::Missing | HolderLookup::Abandoned => None,
        })
    }

    /// The password of a customer.
    pub(super) async fn stored_password(
        &self,
        customer: &CustomerItem,
        ledger: &Ledger,
    ) -> Result<StoredPassword, Fault> {
        let found = self.account_passwords.find(customer.id.into(), ledger).await?;
        Ok(found.unwrap_or_else(|| embedded_password(customer)))
    }

    /// Changes the password, ends all sessions of the customer, and starts another one. Safe to repeat.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on `newPassword`; `FORBIDDEN` on `currentPassword` when it is wrong or the customer
    /// has no password; `UNAUTHENTICATED` when the customer does not exist.
    pub async fn change_customer_password(
        &self,
        input: ChangeCustomerPassword,
        sessions: &Sessions,
        ledger: &Ledger,
    ) -> Result<NewSession, CommandError> {
        let change = PasswordChange {
            account: input.customer_id.into(),
            login: &input.email_address,
            current_password: &input.current_password,
            new_password: &input.new_password,
            caller: input.caller,
        };
        let holder = CustomerPassword { commands: self, customer: input.customer_id };
        change_password((&self.passwords, sessions), &holder, change, ledger).await
    }

    /// Changes the e-mail address by which a customer signs in. Sessions go on. Safe to repeat.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` and `CONFLICT` on `emailAddress`; `FORBIDDEN` on `currentPassword` when it is wrong;
    /// `UNAUTHENTICATED` when the customer does not exist.
    pub async fn change_email_address(
        &self,
        input: ChangeEmailAddress,
        ledger: &Ledger,
    ) -> Result<CustomerItem, CommandError> {
        let address = EmailAddress::choose(&input.email_address);
        let address = address.map_err(|rule| Refusal::bad_input("emailAddress", rule))?;
        let stored = self.read_customer(input.customer_id, ledger).await?;
        let hash = self.stored_password(&stored.customer, ledger).await?.hash()?;
        let password = Password::attempt(&input.current_password);
        if !self.passwords.verify_for(input.caller, password, hash).await? {
            return Err(wrong_password().into());
        }
        let _turn = self.turns.wait(input.customer_id.0).await;
        for _ in 0..ATTEMPTS_MAX {
            let stored = self.read_customer(input.customer_id, ledger).await?;
            if let Some(customer) = self.take_address(stored, &address, ledger).await? {
                return Ok(customer);
            }
        }
        Err(contended("a customer").into())
    }

    /// One try; `None` when the customer has to be read again.
    async fn take_address(
        &self,
        stored: StoredCustomer,
        address: &EmailAddress,
        ledger: &Ledger,
    ) -> Result<Option<CustomerItem>, CommandError> {
        let StoredCustomer { customer, etag, .. } = stored;
        if customer.email_address == address.as_str() {
            return Ok(Some(customer));
        }
        let (id, key) = (customer.id, reservation_id(address));
        let left = match has_address(&customer, &key) {
            true => None,
            false => {
                let left = self.own_reservation(&customer, ledger).await?;
                let wanted = reservation(&key, id, None);
                match self.customers.reservations().claim(&key, &wanted, ledger).await? {
                    KeyClaim::Granted => left,
                    KeyClaim::Held { .. } => return Err(address_taken().into()),
                }
            }
        };
        let changed = CustomerItem {
            email_address: address.as_str().to_owned(),
            version: customer.version + 1,
            ..customer
        };
        if self.customers.replace(&changed, etag, ledger).await? == WriteAttempt::LookAgain {
            return Ok(None);
        }
        if let Some((key, etag)) = left
            && self.customers.reservations().delete(&key, etag, ledger).await? == WriteAttempt::LookAgain
        {
            // Perhaps nothing was done, or the customer has claimed the address again: that is judged anew.
            self.customers.release_lapsed(&key, ledger).await?;
        }
        Ok(Some(changed))
    }

    /// The reservation of the address that the customer has.
    async fn own_reservation(
        &self,
        customer: &CustomerItem,
        ledger: &Ledger,
    ) -> Result<Option<(String, ETag)>, Fault> {
        let Ok(address) = EmailAddress::parse(&customer.email_address) else { return Ok(None) };
        let key = reservation_id(&address);
        let found = self.customers.reservations().find(&key, ledger).await?;
        Ok(found.filter(|(own, _)| own.customer_id == customer.id).map(|(_, etag)| (key, etag)))
    }
}

#[async_trait]
impl PasswordHolder for CustomerPassword<'_> {
    async fn current(&self, ledger: &Ledger) -> Result<StoredPassword, CommandError> {
        let stored = self.commands.read_customer(self.customer, ledger).await?;
        // A password of an earlier version moves first: it is replaced where the current version has it.
        let customer = self.commands.customers.move_password(stored.customer, ledger).await?;
        Ok(self.commands.stored_password(&customer, ledger).await?)
    }

    async fn replace(
        &self,
        compared: &StoredPassword,
        hash: &PasswordHash,
        ledger: &Ledger,
    ) -> Result<(), CommandError> {
        self.commands.account_passwords.replace(compared, hash, ledger).await
    }
}

fn refused() -> Refusal {
    Refusal::invalid_credentials("the e-mail address or the password is wrong")
}

/// The password that earlier versions kept in the customer.
fn embedded_password(customer: &CustomerItem) -> StoredPassword {
    let hash = customer.password.as_ref().map(|password| password.hash.as_str());
    StoredPassword::new(&AccountPasswords::place(customer.id.into()), hash, 0)
}

fn has_address(customer: &CustomerItem, key: &str) -> bool {
    EmailAddress::parse(&customer.email_address).is_ok_and(|address| reservation_id(&address) == key)
}

/// The id of no customer.
fn nobody() -> CustomerId {
    CustomerId(uuid::Uuid::nil())
}

/// Records the reads of a sign-in. After a failure they look the same whether the address exists or not.
fn record_sign_in(reads: &Ledger, succeeded: bool, ledger: &Ledger) {
    for operation in reads.operations() {
        let recorded = match succeeded {
            true => operation,
            false => OperationRecord { items: 1, charge: POINT_READ_MIN, ..operation },
        };
        ledger.record(recorded);
    }
}
