//! Stored forms: the properties in which an object has its fields: a whole item, a short entry of a list, an
//! object within an item, or the target of a reference by the copies beside it.

use std::cell::RefCell;
use std::rc::Rc;

use onehop_model::{Field, FieldKind, FieldPath, Grants, KeySource, PropertyPath, ReferenceField};

use super::plan::{FieldOwner, GlobalIdSource, Guard, ItemShape, KeyPart, PlaceGuard, PlaceOwner};
use super::schema::{PlannedModel, PlannedType};
use crate::domain::stored_json::{MemberSlot, StoredShape};
use crate::served::formats::currency_roots;
use crate::served::{PartitionSource, TypeIndex, interned, key_fields};

/// The members of an object that a plan uses, while the plan is compiled. Clones are the same members.
#[derive(Clone, Default)]
pub(super) struct ShapeBuilder(Rc<RefCell<Vec<&'static str>>>);

impl ShapeBuilder {
    /// The slot of a member; `None` where a plan uses too many of an object.
    pub(super) fn slot(&self, name: &str) -> Option<MemberSlot> {
        let mut names = self.0.borrow_mut();
        if let Some(place) = names.iter().position(|known| *known == name) {
            return MemberSlot::at(place);
        }
        let slot = MemberSlot::at(names.len())?;
        names.push(interned(name));
        Some(slot)
    }

    pub(super) fn build(&self) -> StoredShape {
        StoredShape::of(self.0.borrow().clone())
    }
}

/// The stored form of an object.
#[derive(Clone)]
pub(super) struct Form<'m> {
    pub(super) planned: &'m PlannedModel,
    pub(super) model: usize,
    pub(super) owner: FieldOwner,
    pub(super) name: &'m str,
    pub(super) fields: &'m [Field],
    pub(super) kind: FormKind<'m>,
    pub(super) shape: ShapeBuilder,
    /// The members of the item that the object is in.
    pub(super) item: ShapeBuilder,
}

/// The kind of a stored form.
#[derive(Clone)]
pub(super) enum FormKind<'m> {
    Whole,
    /// With these properties, and the id of the item in this one.
    Entry(Rc<[&'static str]>, &'static str),
    Embedded,
    /// The target of a reference, by the copies that its holder has.
    Target(&'m ReferenceField, Box<TargetId>),
}

/// The id of a reference's target.
#[derive(Clone)]
pub(super) struct TargetId {
    pub(super) id: MemberSlot,
    pub(super) partition: Vec<KeyPart>,
    /// The properties of the copies that the holder has.
    pub(super) copies: Vec<&'static str>,
}

impl<'m> Form<'m> {
    /// The form of a whole item.
    pub(super) fn whole(planned: &'m PlannedModel, of: PlannedType) -> Self {
        Self::of_item(planned, of, FormKind::Whole, ShapeBuilder::default())
    }

    /// The form of an item in these members.
    pub(super) fn of_item(
        planned: &'m PlannedModel,
        of: PlannedType,
        kind: FormKind<'m>,
        shape: ShapeBuilder,
    ) -> Self {
        let served = planned.model.ty(of.ty);
        let (name, fields) = (served.name, served.item.fields.as_slice());
        let owner = FieldOwner::Item(of.ty);
        Self { planned, model: of.model, owner, name, fields, kind, item: shape.clone(), shape }
    }

    /// The form of an object within this one.
    pub(super) fn embedded(&self, name: &str) -> Option<Self> {
        let embedded = self.planned.model.embedded(name)?;
        Some(Self {
            owner: FieldOwner::Embedded(name.into()),
            name: &embedded.name,
            fields: &embedded.fields,
            kind: FormKind::Embedded,
            shape: ShapeBuilder::default(),
            ..self.clone()
        })
    }

    pub(super) fn field(&self, name: &str) -> Option<(usize, &'m Field)> {
        self.fields.iter().enumerate().find(|(_, field)| &*field.name == name)
    }

    pub(super) fn item_type(&self) -> Option<PlannedType> {
        match self.owner {
            FieldOwner::Item(ty) => Some(PlannedType { model: self.model, ty }),
            FieldOwner::Embedded(_) => None,
        }
    }

    /// Whether the object has a property at its root.
    pub(super) fn has(&self, property: &str) -> bool {
        match &self.kind {
            FormKind::Whole | FormKind::Embedded => true,
            FormKind::Entry(fields, _) => fields.contains(&property),
            FormKind::Target(..) => false,
        }
    }

    /// The property with the value of a field, where the object has it; `None` for a field that takes another
    /// read, and for a property below the root.
    pub(super) fn property(&self, field: &Field) -> Option<&'static str> {
        let path = match &field.kind {
            FieldKind::Stored(stored) => &stored.property,
            _ => field.property()?,
        };
        let property = single(path)?;
        match &self.kind {
            FormKind::Target(reference, target) => {
                let copied = reference.copies.iter().find(|copy| copy.field == field.name)?;
                let property = single(&copied.property)?;
                let is_whole = currency_roots(self.planned.model.model(), field).is_empty();
                (is_whole && target.copies.contains(&property)).then_some(property)
            }
            _ => {
                let currencies = currency_roots(self.planned.model.model(), field);
                let is_known = self.has(property) && currencies.iter().all(|root| self.has(root));
                is_known.then_some(property)
            }
        }
    }

    /// The slot of a field's value.
    pub(super) fn slot(&self, field: &Field) -> Option<MemberSlot> {
        self.shape.slot(self.property(field)?)
    }

    /// The slot of the object's own id.
    pub(super) fn id_slot(&self) -> Option<MemberSlot> {
        match &self.kind {
            FormKind::Whole => self.shape.slot("id"),
            FormKind::Entry(_, id_property) => self.shape.slot(id_property),
            FormKind::Target(_, target) => Some(target.id),
            FormKind::Embedded => None,
        }
    }

    /// The members with the object's global id.
    pub(super) fn global_id(&self) -> Option<GlobalIdSource> {
        let of = self.item_type()?;
        let format = self.planned.id_format(of.ty)?;
        let partition = match &self.kind {
            FormKind::Target(_, target) => target.partition.clone(),
            _ => self.own_key(of.ty)?,
        };
        Some(GlobalIdSource { format, id: self.id_slot()?, partition })
    }

    /// The values of the object's partition key; empty where it follows from the id.
    pub(super) fn own_key(&self, ty: TypeIndex) -> Option<Vec<KeyPart>> {
        let served = self.planned.model.ty(ty);
        let PartitionSource::Properties(properties) = served.key else { return Some(Vec::new()) };
        let part = |property: &&'static str| match *property {
            "id" => Some(KeyPart::Id),
            "type" => Some(KeyPart::Constant(served.type_value)),
            property => self.shape.slot(property).map(KeyPart::Member),
        };
        properties.iter().map(part).collect()
    }

    /// The id of the target of a reference of this object; `None` where it takes another read.
    pub(super) fn target_id(&self, reference: &ReferenceField, id: MemberSlot) -> Option<TargetId> {
        let target = self.planned.model.ty(self.planned.model.index_of(&reference.target)?);
        let mut named = key_fields(&self.planned.model, reference).into_iter();
        let part = |source: &KeySource| match source {
            KeySource::Id => Some(KeyPart::Id),
            KeySource::Type => Some(KeyPart::Constant(target.type_value)),
            KeySource::Field(_) => {
                let (_, name) = named.next()?;
                let (_, field) = self.field(name)?;
                self.slot(field).map(KeyPart::Member)
            }
        };
        let partition = match target.key {
            PartitionSource::Properties(_) => target.item.key.iter().map(part).collect::<Option<_>>()?,
            PartitionSource::Id | PartitionSource::Constant => Vec::new(),
        };
        let copies = reference.copies.iter().filter_map(|copy| single(&copy.property));
        let copies = copies.filter(|property| self.has(property)).collect();
        Some(TargetId { id, partition, copies })
    }

    /// The condition of grants on the caller; `None` inside where all callers have one.
    pub(super) fn guard(&self, grants: &Grants) -> Option<Option<Guard>> {
        if grants.public {
            return Some(None);
        }
        let by_id = grants.owner.iter().all(|path| path.single().is_some_and(|name| &**name == "id"));
        let is_decided = by_id || matches!(self.kind, FormKind::Whole);
        let owner = |path: &FieldPath| {
            let name = path.single().filter(|_| is_decided)?;
            match &self.kind {
                // The general executor compares the entry's own id.
                FormKind::Entry(..) => self.shape.slot("id"),
                _ => self.owner_slot(name),
            }
        };
        let owners = grants.owner.iter().map(owner).collect();
        Some(Some(Guard { model: self.model, grants: grants.clone(), owners }))
    }

    /// The member with the id of an account in a field: of a reference, or the own id.
    pub(super) fn owner_slot(&self, name: &str) -> Option<MemberSlot> {
        let (_, field) = self.field(name)?;
        match &field.kind {
            FieldKind::Reference(_) => self.slot(field),
            _ => self.id_slot(),
        }
    }

    /// The condition of grants on the caller, by the place of an item; `None` where the item decides.
    pub(super) fn place_guard(&self, grants: &Grants) -> Option<PlaceGuard> {
        let served = self.planned.model.ty(self.item_type()?.ty);
        let owner = |path: &FieldPath| {
            let name = path.single()?;
            let is_key = |source: &KeySource| matches!(source, KeySource::Field(field) if field == name);
            match &**name {
                "id" => Some(PlaceOwner::Id),
                _ if served.item.key.len() == 1 && served.item.key.iter().any(is_key) => {
                    Some(PlaceOwner::Partition)
                }
                _ => None,
            }
        };
        let owners = grants.owner.iter().map(owner).collect::<Option<_>>()?;
        Some(PlaceGuard { grants: grants.clone(), owners })
    }

    /// The members by which an item of this type is known.
    pub(super) fn item_slots(&self) -> Option<(MemberSlot, &'static str, MemberSlot)> {
        let served = self.planned.model.ty(self.item_type()?.ty);
        Some((self.shape.slot("type")?, served.type_value, self.shape.slot("deleted")?))
    }

    /// The shape of an item, after all of its fields have been compiled.
    pub(super) fn item_shape(&self) -> Option<ItemShape> {
        let (item_type, type_value, deleted) = self.item_slots()?;
        Some(ItemShape { shape: self.shape.build(), item_type, type_value, deleted })
    }
}

/// The only property of a path.
pub(super) fn single(path: &PropertyPath) -> Option<&'static str> {
    match path.properties() {
        [property] => Some(interned(property)),
        _ => None,
    }
}
