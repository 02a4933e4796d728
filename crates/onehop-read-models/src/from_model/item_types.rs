//! Item types of a model: containers, partition keys, and the stored properties that rules name.

use std::collections::BTreeMap;

use onehop_model::{
    CopiedField, CurrencyProperty, Deletion, Field, FieldKind, ItemVersion, KeySource, Model, Name,
    PropertyPath, Scalar, TypeOf, ValueSource,
};
use onehop_store::{ContainerName, interned, property_of_path};

use super::model_error::ModelError;
use crate::item_type::{ID, ItemPartition, ItemType, TYPE, VERSION};

/// The item types of a model by their names in the file.
pub(super) struct ItemTypes(BTreeMap<Name, ItemType>);

impl ItemTypes {
    pub(super) fn of(model: &Model) -> Result<Self, Vec<ModelError>> {
        let (mut types, mut errors) = (BTreeMap::new(), Vec::new());
        for item in model.items() {
            match item_type(model, item) {
                Ok(found) => drop(types.insert(item.name.clone(), found)),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(Self(types)) } else { Err(errors) }
    }

    /// The type of a name in the file, which the model was checked to have.
    pub(super) fn get(&self, name: &Name) -> Result<&ItemType, ModelError> {
        let missing = || ModelError::unsupported(name, "@item", "there is no such type of item");
        self.0.get(name).ok_or_else(missing)
    }
}

fn item_type(model: &Model, item: &onehop_model::ItemType) -> Result<ItemType, ModelError> {
    check_stored_form(item)?;
    let container = ContainerName::named(&item.container)?;
    let name = interned(&item.type_value)?;
    let mut fields = Vec::new();
    let partition = match item.key.as_slice() {
        [KeySource::Id] => {
            let key = model.container(&item.container).and_then(|container| container.key.first());
            fields
                .extend(key.map(|key| root_property(&item.name, key)).transpose()?.filter(|key| *key != ID));
            ItemPartition::Id
        }
        [KeySource::Type] => ItemPartition::Constant(name),
        sources => {
            let mut names = Vec::new();
            for source in sources {
                let field = match source {
                    KeySource::Id => {
                        names.push(ID);
                        continue;
                    }
                    KeySource::Type => {
                        names.push(TYPE);
                        continue;
                    }
                    KeySource::Field(field) => item.field(field),
                };
                let path = field.and_then(Field::property);
                let reason = "a key is `id`, `type`, or stored fields";
                let path = path.ok_or_else(|| ModelError::unsupported(&item.name, "@item", reason))?;
                if let Some(field) = field.filter(|field| !is_key_value(field)) {
                    let reason = format!("a key has no `{}`", field.ty.of.name());
                    return Err(ModelError::unsupported(&item.name, "@item(partition)", reason));
                }
                names.push(root_property(&item.name, path)?);
            }
            ItemPartition::Field(interned(&names.join("/"))?)
        }
    };
    for field in &item.fields {
        add_properties(model, &item.name, field, "", &mut fields)?;
    }
    fields.dedup();
    Ok(ItemType { partition, ..ItemType::new(container, name, &fields) })
}

/// Whether the stored values of a field are texts, numbers or Booleans, as the values of partition keys are.
pub(super) fn is_key_value(field: &Field) -> bool {
    match (&field.kind, &field.ty.of) {
        (FieldKind::Reference(_), _) => true,
        (FieldKind::Stored(_), TypeOf::Scalar(scalar)) => *scalar != Scalar::Money,
        (FieldKind::Stored(_), TypeOf::Enum(_)) => true,
        _ => false,
    }
}

/// Items are distinguished by `type` (items of a type with `@where` have it, too), compared by `version`, and
/// deleted softly by `deleted`.
fn check_stored_form(item: &onehop_model::ItemType) -> Result<(), ModelError> {
    let unsupported = |directive, reason: &str| Err(ModelError::unsupported(&item.name, directive, reason));
    match &item.version {
        ItemVersion::Property(path) if path.properties() == [VERSION] => {}
        _ => return unsupported("@item", "the version of an item is its property `version`"),
    }
    match &item.deletion {
        // Writers mark a deleted item with `deleted`, beside a mark of the model's own.
        Deletion::Hard | Deletion::Ttl | Deletion::Soft { .. } => Ok(()),
        Deletion::AllVersions => unsupported("@deletes", "deletions are SOFT, TTL or HARD"),
    }
}

/// Rules read a value at one property alone.
fn check_former(owner: &Name, field: &Field) -> Result<(), ModelError> {
    match field.former().first() {
        None => Ok(()),
        Some(former) => {
            let reason = format!("`former` is not supported: rules read `{former}` nowhere");
            Err(ModelError::unsupported(&format!("{owner}.{}", field.name), "@stored", reason))
        }
    }
}

/// Adds the properties of a field, its elements as `array[]`, and their properties as `array[].property`.
fn add_properties(
    model: &Model,
    owner: &Name,
    field: &Field,
    prefix: &str,
    properties: &mut Vec<&'static str>,
) -> Result<(), ModelError> {
    check_former(owner, field)?;
    match &field.kind {
        FieldKind::Stored(stored) if stored.source == ValueSource::Id => return Ok(()),
        FieldKind::Stored(stored) => {
            let Some(path) = field.property() else { return Ok(()) };
            add(properties, prefix, path)?;
            if field.ty.list.is_some() && prefix.is_empty() {
                properties.push(interned(&format!("{}[]", property(path)?))?);
            }
            match &stored.currency {
                Some(CurrencyProperty::Beside(path)) => add(properties, prefix, path)?,
                Some(CurrencyProperty::OfItem(path)) => add(properties, "", path)?,
                None => {}
            }
            let (TypeOf::Embedded(name), "") = (&field.ty.of, prefix) else { return Ok(()) };
            let embedded = model.embedded_type(name).into_iter().flat_map(|embedded| &embedded.fields);
            let prefix = format!("{}[].", property(path)?);
            for inner in embedded {
                add_properties(model, name, inner, &prefix, properties)?;
            }
        }
        FieldKind::Reference(reference) => {
            add(properties, prefix, &reference.property)?;
            let is_list = field.ty.list.is_some();
            let elements = if is_list { format!("{}[].", reference.property.last()) } else { String::new() };
            match (is_list, reference.copies.is_empty()) {
                (true, true) => {
                    properties.push(interned(&format!("{prefix}{}[]", reference.property.last()))?)
                }
                (true, false) => properties.push(interned(&format!("{prefix}{elements}{ID}"))?),
                (false, _) => {}
            }
            for path in reference.copies.iter().flat_map(CopiedField::properties) {
                properties.push(interned(&format!("{prefix}{elements}{}", path.last()))?);
            }
        }
        FieldKind::Count(_) => {
            if let Some(path) = field.property() {
                add(properties, prefix, path)?;
            }
        }
        FieldKind::Related(_) | FieldKind::HasCaller(_) => {}
    }
    Ok(())
}

/// Adds the property at a path, and the one at its root.
fn add(properties: &mut Vec<&'static str>, prefix: &str, path: &PropertyPath) -> Result<(), ModelError> {
    let first = path.properties().first().map_or("", String::as_str);
    properties.push(interned(&format!("{prefix}{first}"))?);
    if prefix.is_empty() && path.properties().len() > 1 {
        properties.push(property(path)?);
    }
    Ok(())
}

/// The name of a property at the root of the item, or of an element of its array.
pub(super) fn root_property(place: &str, path: &PropertyPath) -> Result<&'static str, ModelError> {
    match path.properties() {
        [name] => Ok(interned(name)?),
        _ => Err(ModelError::unsupported(
            place,
            "@stored",
            format!("is at the root of the item or element, and `{path}` is in an object"),
        )),
    }
}

/// A property, at the root of the item or below objects.
pub(super) fn property(path: &PropertyPath) -> Result<&'static str, ModelError> {
    Ok(interned(&property_of_path(path.properties()))?)
}
