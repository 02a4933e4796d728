//! Customers in the schema: who sees them, and how they change their data.

use async_graphql::{Context, ID, InputObject, MaybeUndefined, Object, Result, SimpleObject};

use super::customer::{Customer, CustomerConnection};
use super::nodes;

use crate::graphql::connections::PageArguments;
use crate::graphql::errors::bad_input;
use crate::graphql::ids::{GlobalId, InvalidId};
use crate::graphql::inputs::change_of;
use crate::graphql::resolution::{All, One};
use crate::graphql::scope;
use crate::graphql::staff;
use crate::graphql::writes::within_limit;
use crate::webstore::commands::{TypedAddress, UpdateCustomer};
use crate::webstore::reads::RANKED_CUSTOMERS;
use crate::webstore::write_limits;

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
        #[graphql(desc = "The number of customers, 1 to 100.", default = 10)] first: i32,
        #[graphql(desc = "The cursor after which the page begins.")] after: Option<String>,
    ) -> Result<Option<One<CustomerConnection>>> {
        let scope = scope::of(ctx);
        staff::member(scope)?;
        let page = PageArguments { first, after }.parse(RANKED_CUSTOMERS.single())?;
        let customers = scope.services().webstore.reads.top_customers(&page.request, scope.ledger()).await;
        let customers = customers.map_err(|fault| scope.fault(&fault))?;
        Ok(Some(One(CustomerConnection::new(customers, &page, Customer::new))))
    }

    /// The customers with most orders by a query of all partitions, as the article has it, to be compared.
    /// For staff.
    async fn top_customers_across_partitions(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The number of customers, 1 to 100.", default = 10)] first: i32,
    ) -> Result<Option<All<Customer>>> {
        let scope = scope::of(ctx);
        staff::member(scope)?;
        let page = PageArguments { first, after: None }.parse(RANKED_CUSTOMERS.single())?;
        let reads = &scope.services().webstore.reads;
        let customers = reads.top_customers_across_partitions(&page.request, scope.ledger()).await;
        let customers = customers.map_err(|fault| scope.fault(&fault))?;
        Ok(Some(All(customers.into_iter().map(Customer::new).collect())))
    }
}

/// A postal address.
#[derive(InputObject)]
pub struct CustomerAddressInput {
    /// Street and number: 1 to 200 characters.
    pub address_line1: String,
    /// The part that does not fit into the first line: 1 to 200 characters.
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

/// The changes of the signed-in customer; omitted fields stay.
#[derive(InputObject)]
pub struct UpdateCustomerInput {
    /// 1 to 20 characters; null removes the title.
    pub title: MaybeUndefined<String>,
    /// 1 to 100 characters.
    pub first_name: Option<String>,
    /// 1 to 100 characters.
    pub last_name: Option<String>,
    /// 1 to 40 characters; null removes the phone number.
    pub phone_number: MaybeUndefined<String>,
    /// All addresses that the customer has from now on, at most 10; null removes all.
    pub addresses: MaybeUndefined<Vec<CustomerAddressInput>>,
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
    /// Changes the data of the signed-in customer; omitted fields stay.
    async fn update_customer(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The changes.")] input: UpdateCustomerInput,
    ) -> Result<Option<One<UpdateCustomerPayload>>> {
        let scope = scope::for_write(ctx)?;
        let UpdateCustomerInput { title, first_name, last_name, phone_number, addresses } = input;
        let addresses = change_of(addresses).map(Option::unwrap_or_default);
        let customer_id = scope.signed_in_customer()?;
        let command = UpdateCustomer {
            customer_id,
            title: change_of(title),
            first_name,
            last_name,
            phone_number: change_of(phone_number),
            addresses: addresses.map(|addresses| addresses.into_iter().map(typed).collect()),
        };
        let updating = scope.services().webstore.commands.update_customer(command, scope.ledger());
        let customer = within_limit(scope, &write_limits::PROFILE_UPDATES, customer_id, updating).await?;
        Ok(Some(One(UpdateCustomerPayload { customer: One(Customer::new(customer.into())) })))
    }
}

pub(super) fn typed(input: CustomerAddressInput) -> TypedAddress {
    let CustomerAddressInput { address_line1, address_line2, city, state, country, zip_code } = input;
    TypedAddress { address_line1, address_line2, city, state, country, zip_code }
}
