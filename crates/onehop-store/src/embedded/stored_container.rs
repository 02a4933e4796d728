//! Stored container definitions: the data directory's record of each container.

use serde::{Deserialize, Serialize};

use crate::interned::{InternError, interned, interned_list, interned_orders};
use crate::{ContainerSpec, TypeOrder};

/// The record of a container: all dependencies of its keys and index entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredContainer {
    pub(super) name: String,
    pub(super) partition_key: String,
    pub(super) order_by: Option<String>,
    /// The orders of single types: the type, and the property.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) orders: Vec<(String, String)>,
    pub(super) equality: Vec<String>,
    pub(super) newest_types: Vec<String>,
    /// Whether items may still have the keys of earlier orders and indexes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_reindexed: bool,
}

impl From<&ContainerSpec> for StoredContainer {
    fn from(spec: &ContainerSpec) -> Self {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Self {
            name: spec.name.as_str().to_owned(),
            partition_key: spec.partition_key.to_owned(),
            order_by: spec.order_by.map(str::to_owned),
            orders: spec
                .orders
                .iter()
                .map(|order| (order.item_type.to_owned(), order.property.to_owned()))
                .collect(),
            equality: texts(spec.equality),
            newest_types: texts(spec.newest_types),
            is_reindexed: false,
        }
    }
}

impl StoredContainer {
    /// The definition by which the items of the container are stored: the declared one where it is the same.
    /// A container that is not declared any more has the recorded one.
    ///
    /// # Errors
    /// It has too many or too long names.
    pub(super) fn spec(&self, declared: &[ContainerSpec]) -> Result<ContainerSpec, InternError> {
        if let Some(spec) = declared.iter().find(|spec| Self::from(*spec).is_stored_as(self)) {
            return Ok(*spec);
        }
        let texts = |texts: &[String]| {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            interned_list(&texts)
        };
        let order = |(item_type, property): &(String, String)| {
            Ok(TypeOrder { item_type: interned(item_type)?, property: interned(property)? })
        };
        let orders: Vec<TypeOrder> = self.orders.iter().map(order).collect::<Result<_, InternError>>()?;
        let spec = ContainerSpec::new(interned(&self.name)?, interned(&self.partition_key)?);
        Ok(ContainerSpec {
            order_by: self.order_by.as_deref().map(interned).transpose()?,
            orders: interned_orders(&orders)?,
            equality: texts(&self.equality)?,
            newest_types: texts(&self.newest_types)?,
            ..spec
        })
    }

    fn is_stored_as(&self, stored: &Self) -> bool {
        *self == Self { is_reindexed: false, ..stored.clone() }
    }
}
