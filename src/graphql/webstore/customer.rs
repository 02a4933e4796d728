//! The `Customer` type.

use async_graphql::{Context, ID, Object, Result, SimpleObject};
use uuid::Uuid;

use super::sales_order::{SalesOrder, SalesOrderConnection};
use crate::graphql::connections::{Connection, Listed, PageArguments};
use crate::graphql::date_time::DateTime;
use crate::graphql::errors::{Code, error};
use crate::graphql::ids::GlobalId;
use crate::graphql::resolution::{All, One};
use crate::graphql::scope;
use crate::webstore::reads::{AddressView, CustomerView, SALES_ORDERS};

/// A page of customers.
pub type CustomerConnection = Connection<Customer>;

/// A customer.
pub struct Customer(CustomerView);

impl Customer {
    pub(crate) fn new(view: CustomerView) -> Self {
        Self(view)
    }
}

impl Listed for Customer {
    fn place(&self) -> (&str, Uuid) {
        (&self.0.sort_key, self.0.id.0)
    }
}

/// A person who buys from the web store. Only the customer and staff see one.
#[Object]
impl Customer {
    /// Identifies the customer among all nodes.
    pub async fn id(&self) -> ID {
        GlobalId::Customer(self.0.id).encode().into()
    }

    /// Whether the caller may change the customer: only the customer. Reading it costs nothing.
    async fn viewer_can_update(&self, ctx: &Context<'_>) -> bool {
        scope::of(ctx).customer() == Some(self.0.id)
    }

    /// The form of address of the customer.
    async fn title(&self) -> Option<&str> {
        self.0.title.as_deref()
    }

    /// The first name.
    async fn first_name(&self) -> &str {
        &self.0.first_name
    }

    /// The last name.
    async fn last_name(&self) -> &str {
        &self.0.last_name
    }

    /// The e-mail address, unique in any case.
    async fn email_address(&self) -> &str {
        &self.0.email_address
    }

    /// The phone number.
    async fn phone_number(&self) -> Option<&str> {
        self.0.phone_number.as_deref()
    }

    /// When the customer signed up.
    async fn creation_date(&self) -> DateTime {
        DateTime(self.0.creation_date.clone())
    }

    /// The postal addresses, at most 10.
    async fn addresses(&self, ctx: &Context<'_>) -> Result<All<CustomerAddress>> {
        if let Some(addresses) = &self.0.addresses {
            return Ok(All(addresses.iter().cloned().map(Into::into).collect()));
        }
        // A short copy has no address.
        let scope = scope::of(ctx);
        let customer = scope.services().webstore.reads.customer(self.0.id, scope.ledger()).await;
        let customer = customer.map_err(|fault| scope.fault(&fault))?;
        let addresses = customer.and_then(|customer| customer.addresses);
        let addresses = addresses.ok_or_else(|| error(Code::NotFound, "There is no such customer."))?;
        Ok(All(addresses.into_iter().map(Into::into).collect()))
    }

    /// The number of the customer's orders.
    async fn sales_order_count(&self) -> u32 {
        self.0.sales_order_count
    }

    /// The customer's orders, newest first.
    async fn sales_orders(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The number of orders, 1 to 100.", default = 20)] first: i32,
        #[graphql(desc = "The cursor after which the page begins.")] after: Option<String>,
    ) -> Result<One<SalesOrderConnection>> {
        let scope = scope::of(ctx);
        let page = PageArguments { first, after }.parse(SALES_ORDERS.of(self.0.id.0))?;
        let orders =
            scope.services().webstore.reads.sales_orders(self.0.id, &page.request, scope.ledger()).await;
        let orders = orders.map_err(|fault| scope.fault(&fault))?;
        Ok(One(SalesOrderConnection::new(orders, &page, SalesOrder::new)))
    }
}

/// A postal address.
#[derive(SimpleObject)]
pub struct CustomerAddress {
    /// Street and number.
    address_line1: String,
    /// The part that does not fit into the first line.
    address_line2: Option<String>,
    /// The city.
    city: String,
    /// The state or province.
    state: Option<String>,
    /// The country.
    country: String,
    /// The postal code.
    zip_code: String,
}

impl From<AddressView> for CustomerAddress {
    fn from(view: AddressView) -> Self {
        let AddressView { address_line1, address_line2, city, state, country, zip_code } = view;
        Self { address_line1, address_line2, city, state, country, zip_code }
    }
}
