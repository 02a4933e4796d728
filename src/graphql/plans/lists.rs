//! Compiling lists: connections and plain lists, each as one query and the selection of its items.

use async_graphql::parser::types::{Field, SelectionSet};
use onehop_model::{FieldKind, Grants, KeySource, RelatedField};

use super::arguments::{RangeArguments, has_only};
use super::compiler::{Compiler, Fetched, ObjectReads, Outer, Placement};
use super::fields::entry_form;
use super::forms::{Form, FormKind, ShapeBuilder};
use super::plan::{
    ConnectionValue, EdgeValue, Fields, KeyPart, ListFields, ListPlan, ObjectValue, PageInfoValue,
};
use super::schema::PlannedType;
use crate::domain::stored_json::MemberSlot;
use crate::served::{ListPlace, ListScope, OwnerValue, is_nested};

/// Bytes of a truth value and of an object or list in the response budget.
const WORD_BYTES: usize = 5;
const NESTED_BYTES: usize = 3;
/// The arguments of a connection.
const RANGE: [&str; 4] = ["first", "after", "last", "before"];

impl<'d> Compiler<'d> {
    /// A list of a type or of `Query`, below an owner or at the root.
    pub(super) fn list(
        &mut self,
        field: &'d Field,
        (type_name, name): (&str, &str),
        owner: Option<(&Form<'d>, &'d onehop_model::Field)>,
        related: &'d RelatedField,
        grants: Option<&Grants>,
    ) -> Option<ListPlan> {
        let model = match owner {
            Some((form, _)) => form.model,
            None => self.schema.query(name)?.0,
        };
        let of = self.schema.type_of(model, &related.item_type)?;
        let planned = self.schema.model(of);
        let owner_type = owner.and_then(|(form, _)| form.item_type()).map(|of| of.ty);
        let place = planned.model.list_place(owner_type, related)?;
        let is_one_query =
            place.conditions.is_empty() && place.shown_max.is_none() && place.through.is_none();
        let kind = match &place.entry_fields {
            Some(fields) => entry_form(fields, place.id_property),
            None => FormKind::Whole,
        };
        let form = Form::of_item(planned, of, kind, ShapeBuilder::default());
        let (id, deleted) = (form.shape.slot(place.id_property)?, form.shape.slot("deleted")?);
        let own_key = form.own_key(of.ty)?;
        let owner_key = match (&place.scope, owner) {
            (ListScope::Owner(values), Some((form, _))) => owner_key(form, values)?,
            _ => Vec::new(),
        };
        let guard = form.guard(grants.unwrap_or(&planned.model.ty(of.ty).item.authorization.read))?;
        let owner_guard = match owner {
            Some((form, field)) => match &field.authorization.read {
                Some(grants) => form.guard(grants)?,
                None => None,
            },
            None => None,
        };
        let reference = owner.and_then(|(owner, _)| parent_reference(&form, owner));
        let outer = owner.zip(reference).map(|((form, _), reference)| Outer { reference, form });
        let mut fetched = Fetched::default();
        let sets = [&field.selection_set.node];
        let (range, cursors, fields) = if related.page.connection {
            has_only(field, &[RANGE.as_slice(), &["model"]].concat()).then_some(())?;
            let cursors = planned.cursor_format(&format!("{type_name}.{name}"))?;
            let fields = self.connection(&sets, &form, outer, &mut fetched)?;
            let range = RangeArguments::of(field, self.operation)?;
            (Some(range), Some(cursors), ListFields::Connection(fields))
        } else {
            has_only(field, &[]).then_some(())?;
            let fields = self.items(&sets, &form, outer, &mut fetched)?;
            (None, None, ListFields::Plain(fields))
        };
        let Fetched { caller_item, whole, has_cursors, .. } = fetched;
        self.loads += usize::from(caller_item.is_some() || whole.is_some());
        let order = if has_cursors { order_slots(self, of, &form, &place)? } else { Vec::new() };
        let whole_id = match whole.is_some() || caller_item.is_some() {
            true => Some(form.global_id()?),
            false => None,
        };
        let whole = match whole {
            Some(whole) => Some(whole.item_shape()?),
            None => None,
        };
        let key = own_key.iter().filter_map(|part| match part {
            KeyPart::Member(slot) => Some(*slot),
            KeyPart::Id | KeyPart::Constant(_) => None,
        });
        let shape = form.shape.build();
        self.bytes += shape.heap_bytes() + size_of::<ListPlan>();
        Some(ListPlan {
            of,
            place,
            is_one_query,
            items_default: related.page.first as usize,
            items_max: related.page.max as usize,
            range,
            cursors,
            order,
            shape,
            id,
            deleted,
            key: key.collect(),
            guard,
            owner_guard,
            owner_key,
            whole,
            whole_id,
            caller_item,
            fields,
        })
    }

    /// The selection of the items of a list.
    fn items(
        &mut self,
        sets: &[&'d SelectionSet],
        form: &Form<'d>,
        outer: Option<Outer<'_, 'd>>,
        fetched: &mut Fetched<'d>,
    ) -> Option<Fields<ObjectValue>> {
        self.object(sets, form, &mut ObjectReads { place: Placement::Listed, fetched, outer })
    }

    fn connection(
        &mut self,
        sets: &[&'d SelectionSet],
        form: &Form<'d>,
        outer: Option<Outer<'_, 'd>>,
        fetched: &mut Fetched<'d>,
    ) -> Option<Fields<ConnectionValue>> {
        let name = format!("{}Connection", form.name);
        let mut planned = Fields::default();
        for selected in self.selections.select(sets, &name, false)? {
            if self.push_type_name(&mut planned, &selected, &name, ConnectionValue::Constant) {
                continue;
            }
            let sets = selected.sets();
            let value = match selected.name() {
                "nodes" => ConnectionValue::Nodes(self.items(&sets, form, outer, fetched)?),
                "edges" => ConnectionValue::Edges(self.edges(&sets, form, outer, fetched)?),
                "pageInfo" => ConnectionValue::PageInfo(self.page_info(&sets, fetched)?),
                _ => return None,
            };
            self.push(&mut planned, &selected, NESTED_BYTES, value);
        }
        Some(planned)
    }

    fn edges(
        &mut self,
        sets: &[&'d SelectionSet],
        form: &Form<'d>,
        outer: Option<Outer<'_, 'd>>,
        fetched: &mut Fetched<'d>,
    ) -> Option<Fields<EdgeValue>> {
        let name = format!("{}Edge", form.name);
        let mut planned = Fields::default();
        for selected in self.selections.select(sets, &name, false)? {
            if self.push_type_name(&mut planned, &selected, &name, EdgeValue::Constant) {
                continue;
            }
            match selected.name() {
                "node" => {
                    let node = self.items(&selected.sets(), form, outer, fetched)?;
                    self.push(&mut planned, &selected, NESTED_BYTES, EdgeValue::Node(node));
                }
                "cursor" => {
                    fetched.has_cursors = true;
                    self.push(&mut planned, &selected, 0, EdgeValue::Cursor);
                }
                _ => return None,
            }
        }
        Some(planned)
    }

    fn page_info(
        &mut self,
        sets: &[&'d SelectionSet],
        fetched: &mut Fetched<'d>,
    ) -> Option<Fields<PageInfoValue>> {
        let mut planned = Fields::default();
        for selected in self.selections.select(sets, "PageInfo", false)? {
            if self.push_type_name(&mut planned, &selected, "PageInfo", PageInfoValue::Constant) {
                continue;
            }
            let (bytes, value) = match selected.name() {
                "hasNextPage" => (WORD_BYTES, PageInfoValue::HasNextPage),
                "hasPreviousPage" => (WORD_BYTES, PageInfoValue::HasPreviousPage),
                "startCursor" => (0, PageInfoValue::StartCursor),
                "endCursor" => (0, PageInfoValue::EndCursor),
                _ => return None,
            };
            fetched.has_cursors |= bytes == 0;
            self.push(&mut planned, &selected, bytes, value);
        }
        Some(planned)
    }
}

/// The properties of an owner that are the logical partition of its list.
fn owner_key(owner: &Form<'_>, values: &[OwnerValue]) -> Option<Vec<(&'static str, MemberSlot)>> {
    let properties = values.iter().filter_map(|value| match value {
        OwnerValue::Id => None,
        OwnerValue::KeyPart(_, property) | OwnerValue::Property(property) => Some(*property),
    });
    properties.map(|property| Some((property, owner.shape.slot(property)?))).collect()
}

/// The reference of a list's items to the item that the list is below.
fn parent_reference<'m>(listed: &Form<'m>, owner: &Form<'_>) -> Option<&'m onehop_model::Name> {
    let key = &listed.planned.model.ty(listed.item_type()?.ty).item.key;
    let leads_there = |field: &&onehop_model::Field| {
        let FieldKind::Reference(reference) = &field.kind else { return false };
        let is_key = |source: &KeySource| matches!(source, KeySource::Field(name) if *name == field.name);
        *reference.target == *owner.name && key.len() == 1 && key.iter().any(is_key)
    };
    listed.fields.iter().find(leads_there).map(|field| &field.name)
}

/// The members of the order of a list.
fn order_slots(
    compiler: &Compiler<'_>,
    of: PlannedType,
    form: &Form<'_>,
    place: &ListPlace,
) -> Option<Vec<(&'static str, MemberSlot)>> {
    let properties = compiler.schema.model(of).model.order_properties(place);
    std::iter::once("id")
        .chain(properties)
        .map(|property| Some((property, form.shape.slot(property).filter(|_| !is_nested(property))?)))
        .collect()
}
