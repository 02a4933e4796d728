//! Random commands of customers and staff of the web store, and the answers that they have to lead to.

mod agreement;
mod model;
mod play;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::properties::acts::keys;

pub use agreement::assert_agreement;
pub use play::play;

/// E-mail addresses that customers fight for, each with another spelling.
const ADDRESSES: [[&str; 2]; 4] = [
    ["eva@example.com", "Eva@Example.com"],
    ["bob@example.com", "BOB@EXAMPLE.COM"],
    ["zoë@example.com", "Zoë@example.com"],
    ["ada.l@example.com", "Ada.L@example.com"],
];

/// The edited part of a product.
#[derive(Debug, Clone)]
pub enum Edited {
    Name,
    Price,
    Tags(Vec<Index>),
    All(Vec<Index>),
}

/// One command. An [`Index`] chooses among the existing items when its turn comes.
#[derive(Debug, Clone)]
pub enum ShopAct {
    SignUp { address: String },
    UpdateCustomer { customer: Index, addresses: usize },
    CreateCategory,
    RenameCategory { category: Index },
    CreateTag,
    RenameTag { tag: Index },
    CreateProduct { category: Index, tags: Vec<Index> },
    EditProduct { product: Index, edited: Edited },
    DeleteProduct { product: Index },
    Order { customer: Index, products: Vec<Index>, key: Option<u8> },
    DeleteOrder { order: Index },
}

/// Commands, each as often as its weight says.
pub fn acts() -> impl Strategy<Value = ShopAct> + Clone {
    let index = any::<Index>;
    prop_oneof![
        2 => addresses().prop_map(|address| ShopAct::SignUp { address }),
        2 => (index(), 0..=10_usize)
            .prop_map(|(customer, addresses)| ShopAct::UpdateCustomer { customer, addresses }),
        1 => Just(ShopAct::CreateCategory),
        3 => index().prop_map(|category| ShopAct::RenameCategory { category }),
        1 => Just(ShopAct::CreateTag),
        3 => index().prop_map(|tag| ShopAct::RenameTag { tag }),
        5 => (index(), tags()).prop_map(|(category, tags)| ShopAct::CreateProduct { category, tags }),
        6 => (index(), edits()).prop_map(|(product, edited)| ShopAct::EditProduct { product, edited }),
        1 => index().prop_map(|product| ShopAct::DeleteProduct { product }),
        8 => (index(), vec(index(), 1..=3), keys())
            .prop_map(|(customer, products, key)| ShopAct::Order { customer, products, key }),
        3 => index().prop_map(|order| ShopAct::DeleteOrder { order }),
    ]
}

fn addresses() -> impl Strategy<Value = String> + Clone {
    let spelling = |(address, spelling): (Index, Index)| {
        spelling.get(address.get(ADDRESSES.as_slice()).as_slice()).to_string()
    };
    any::<(Index, Index)>().prop_map(spelling)
}

fn tags() -> impl Strategy<Value = Vec<Index>> + Clone {
    vec(any::<Index>(), 0..=3)
}

fn edits() -> impl Strategy<Value = Edited> + Clone {
    prop_oneof![
        Just(Edited::Name),
        Just(Edited::Price),
        tags().prop_map(Edited::Tags),
        tags().prop_map(Edited::All),
    ]
}
