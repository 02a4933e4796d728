//! Commands of the web store, with inputs that are short to write.

use std::sync::Arc;

use onehop::accounts::hashing_queue::HashingCaller;
use onehop::accounts::staff::{Staff, StaffMember};
use onehop::domain::error::CommandError;
use onehop::webstore::commands::{
    CreateCustomer, CreateProduct, CreateSalesOrder, DeleteSalesOrder, OrderedProduct, SettledOrder,
    SignInCustomer, TypedAddress, TypedMoney, UpdateCustomer, UpdateProduct, WebstoreCommands,
};
use onehop::webstore::ids::{CategoryId, CustomerId, ProductId, SalesOrderId, TagId};
use onehop::webstore::items::{CustomerItem, ProductItem};
use onehop_store::Ledger;

/// The password of all customers.
pub const PASSWORD: &str = "correct horse battery";

/// A product, with the category in whose logical partition it is.
pub type ProductKey = (CategoryId, ProductId);

/// The changes of a product; fields that are `None` stay.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProductEdit<'a> {
    pub name: Option<&'a str>,
    pub tags: Option<&'a [TagId]>,
    /// In euros.
    pub price: Option<&'a str>,
}

/// Customers and staff of a web store.
#[derive(Clone)]
pub struct Shop {
    commands: WebstoreCommands,
    staff: Arc<StaffMember>,
}

impl Shop {
    pub fn new(commands: &WebstoreCommands) -> Self {
        let ada = uuid::Uuid::from_u128(1);
        let staff = Staff::new([ada]).member(ada).expect("a member of staff");
        Self { commands: commands.clone(), staff: Arc::new(staff) }
    }

    pub async fn sign_up(&self, address: &str, key: Option<&str>) -> Result<CustomerItem, CommandError> {
        let input = CreateCustomer {
            title: None,
            first_name: "Eva".to_owned(),
            last_name: "Stone".to_owned(),
            email_address: address.to_owned(),
            phone_number: None,
            password: PASSWORD.to_owned(),
            addresses: vec![postal_address()],
            idempotency_key: key.map(str::to_owned),
            caller: HashingCaller::default(),
        };
        self.commands.create_customer(input, &Ledger::new()).await
    }

    pub async fn sign_in(&self, address: &str) -> Result<CustomerItem, CommandError> {
        let (email_address, password) = (address.to_owned(), PASSWORD.to_owned());
        let input = SignInCustomer { email_address, password, caller: HashingCaller::default() };
        self.commands.sign_in_customer(input, &Ledger::new()).await
    }

    /// Gives a customer another last name, and so many addresses.
    pub async fn update_customer(
        &self,
        customer_id: CustomerId,
        last_name: &str,
        addresses: usize,
    ) -> Result<CustomerItem, CommandError> {
        let input = UpdateCustomer {
            customer_id,
            title: None,
            first_name: None,
            last_name: Some(last_name.to_owned()),
            phone_number: None,
            addresses: Some(vec![postal_address(); addresses]),
        };
        self.commands.update_customer(input, &Ledger::new()).await
    }

    pub async fn create_category(&self, name: &str) -> Result<CategoryId, CommandError> {
        let ledger = Ledger::new();
        let made = self.commands.create_product_category(&self.staff, name.to_owned(), &ledger).await;
        made.map(|item| CategoryId(item.id))
    }

    pub async fn create_tag(&self, name: &str) -> Result<TagId, CommandError> {
        let ledger = Ledger::new();
        let made = self.commands.create_product_tag(&self.staff, name.to_owned(), &ledger).await;
        made.map(|item| TagId(item.id))
    }

    /// Renames a category. Returns its version.
    pub async fn rename_category(&self, id: CategoryId, name: &str) -> Result<u64, CommandError> {
        let ledger = Ledger::new();
        let renamed = self.commands.update_product_category(&self.staff, id, name.to_owned(), &ledger).await;
        renamed.map(|item| item.version)
    }

    /// Renames a tag. Returns its version.
    pub async fn rename_tag(&self, id: TagId, name: &str) -> Result<u64, CommandError> {
        let ledger = Ledger::new();
        let renamed = self.commands.update_product_tag(&self.staff, id, name.to_owned(), &ledger).await;
        renamed.map(|item| item.version)
    }

    pub async fn create_product(
        &self,
        name: &str,
        category_id: CategoryId,
        tag_ids: &[TagId],
    ) -> Result<ProductItem, CommandError> {
        let input = CreateProduct {
            sku: format!("SKU-{name}"),
            name: name.to_owned(),
            description: format!("The {name}."),
            price: TypedMoney { amount: "4.99".to_owned(), currency_code: "EUR".to_owned() },
            category_id,
            tag_ids: tag_ids.to_vec(),
        };
        self.commands.create_product(&self.staff, input, &Ledger::new()).await
    }

    /// Changes the given fields of a product.
    pub async fn update_product(
        &self,
        (category_id, product_id): ProductKey,
        edit: ProductEdit<'_>,
    ) -> Result<ProductItem, CommandError> {
        let price = |amount: &str| TypedMoney { amount: amount.to_owned(), currency_code: "EUR".to_owned() };
        let input = UpdateProduct {
            category_id,
            product_id,
            name: edit.name.map(str::to_owned),
            description: None,
            price: edit.price.map(price),
            is_sold_out: None,
            tag_ids: edit.tags.map(<[TagId]>::to_vec),
        };
        self.commands.update_product(&self.staff, input, &Ledger::new()).await
    }

    pub async fn delete_product(&self, (category, id): ProductKey) -> Result<ProductItem, CommandError> {
        self.commands.delete_product(&self.staff, category, id, &Ledger::new()).await
    }

    /// Places an order of one of each product.
    pub async fn order(
        &self,
        customer_id: CustomerId,
        products: &[ProductKey],
        key: Option<&str>,
    ) -> Result<SettledOrder, CommandError> {
        let line =
            |&(category_id, product_id): &ProductKey| OrderedProduct { category_id, product_id, quantity: 1 };
        let (lines, idempotency_key) = (products.iter().map(line).collect(), key.map(str::to_owned));
        let input = CreateSalesOrder { customer_id, lines, shipping_address: None, idempotency_key };
        self.commands.create_sales_order(input, &Ledger::new()).await
    }

    pub async fn delete_order(
        &self,
        customer_id: CustomerId,
        order_id: SalesOrderId,
    ) -> Result<SettledOrder, CommandError> {
        let input = DeleteSalesOrder { customer_id, order_id };
        self.commands.delete_sales_order(input, &Ledger::new()).await
    }
}

/// The key of a product.
pub fn key_of(product: &ProductItem) -> ProductKey {
    (product.category_id, product.id)
}

fn postal_address() -> TypedAddress {
    TypedAddress {
        address_line1: "1 Main Street".to_owned(),
        address_line2: None,
        city: "Springfield".to_owned(),
        state: None,
        country: "US".to_owned(),
        zip_code: "12345".to_owned(),
    }
}
