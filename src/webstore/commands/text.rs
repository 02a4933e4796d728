//! The texts that people write in a web store, checked once.

use crate::domain::text::{check_line, text};

text!(
    /// The name of a category or of a tag.
    MetaName,
    "name",
    100,
    check_line
);
text!(
    /// The name of a product.
    ProductName,
    "name",
    200,
    check_line
);
text!(
    /// A stock keeping unit: the shop's own number of a product.
    Sku,
    "sku",
    40,
    check_line
);
text!(
    /// The description of a product.
    Description,
    "description",
    2_000
);
text!(
    /// The form of address of a customer.
    CustomerTitle,
    "title",
    20,
    check_line
);
text!(
    /// A customer's first name.
    FirstName,
    "firstName",
    100,
    check_line
);
text!(
    /// A customer's last name.
    LastName,
    "lastName",
    100,
    check_line
);
text!(
    /// A customer's phone number.
    PhoneNumber,
    "phoneNumber",
    40,
    check_line
);
