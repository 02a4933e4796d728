//! Compiling fields: the source of a field's value, by its declaration in the model and by the stored form of
//! its object.

use std::rc::Rc;

use onehop_model::{
    Computed, CurrencyProperty, Field, FieldKind, FieldPath, Format, Function, Kept, Literal, Name,
    ReferenceField, Scalar as ScalarType, StoredField, TypeOf, ValueSource,
};

use super::compiler::{Compiler, ObjectReads, Outer, Placement};
use super::forms::{Form, FormKind, ShapeBuilder, TargetId, single};
use super::plan::{
    CallerItem, ComputedField, Fields, Missing, MoneyMember, MoneySource, ObjectValue, Quantity, Right,
    RightOwner, ScalarKind, ScalarMember, TargetElements,
};
use super::scalars::constant_of;
use super::selection::Selected;
use crate::domain::api_additions::{AddedField, AddedRight};
use crate::served::formats::{format_of, is_money};
use crate::served::frozen_copies;
use crate::served::{is_derived_of_caller, related};

/// Bytes of a truth value in the response budget.
const WORD_BYTES: usize = 5;
/// The characters of an excerpt where its rule states none.
const EXCERPT_CHARS: u32 = 88;
/// Milliseconds of a second.
const SECOND_MS: i64 = 1_000;

impl<'d> Compiler<'d> {
    /// The value of a field, and the bytes that it takes from the response budget each time it is selected.
    pub(super) fn value(
        &mut self,
        selected: &Selected<'d>,
        form: &Form<'d>,
        within: &mut ObjectReads<'_, 'd>,
    ) -> Option<(usize, ObjectValue)> {
        if form.planned.leaves_out(form.name, selected.name()) {
            return None;
        }
        if let Some(added) = form.planned.added(form.name, selected.name()) {
            return match added {
                AddedField::CreationDateOfId => Some((0, ObjectValue::CreationDateOfId(form.id_slot()?))),
                AddedField::Right(right) => {
                    Some((WORD_BYTES, ObjectValue::Right(right_of(right, form, within.outer)?)))
                }
            };
        }
        let (index, field) = form.field(selected.name()).filter(|(_, field)| !field.hidden)?;
        if let Some(grants) = field.authorization.read.as_ref().filter(|_| related(field).is_none()) {
            if !matches!(form.kind, FormKind::Whole) {
                return None;
            }
            let value = self.stored(selected, form, (index, field), within)?;
            let guarded = match form.guard(grants)? {
                Some(guard) => ObjectValue::Guarded(guard, Box::new(value)),
                None => value,
            };
            return Some((0, guarded));
        }
        match &field.kind {
            FieldKind::Related(related) => {
                if within.place != Placement::Alone {
                    return None;
                }
                let owner = Some((form, field));
                let list = self.list(selected.only()?, (form.name, &field.name), owner, related, None)?;
                within.fetched.lists.push(list);
                Some((0, ObjectValue::List(within.fetched.lists.len() - 1)))
            }
            FieldKind::HasCaller(list) => {
                let listed = form.field(list).and_then(|(_, list)| related(list))?;
                // The executor asks whether the item of the caller fulfils the conditions of the list.
                listed.conditions.is_empty().then_some(())?;
                let item = form.planned.model.model().item(&listed.item_type)?;
                is_derived_of_caller(form.name, listed, item).then_some(())?;
                let of = self.schema.type_of(form.model, &listed.item_type)?;
                let is_read = matches!(within.place, Placement::Alone | Placement::Listed)
                    || within.place == Placement::Beside && form.planned.additions.is_some();
                is_read.then_some(())?;
                let of_beside = within.place == Placement::Beside;
                let item = CallerItem { ty: of.ty, times: 0, of_beside };
                let item = within.fetched.caller_item.get_or_insert(item);
                item.times += selected.fields.len();
                (item.ty == of.ty && item.of_beside == of_beside)
                    .then_some((WORD_BYTES, ObjectValue::HasCaller))
            }
            FieldKind::Reference(_) if is_read_with(form, field) => {
                let outer = within.outer.filter(|_| within.place == Placement::Alone)?;
                let mut beside =
                    ObjectReads { place: Placement::Beside, fetched: &mut *within.fetched, outer: None };
                let fields = self.object(&selected.sets(), outer.form, &mut beside)?;
                Some((0, ObjectValue::Beside(fields)))
            }
            _ => self.stored(selected, form, (index, field), within).map(|value| (0, value)),
        }
    }

    /// The value of a field that is stored in the item: in its form, or in the whole item of an entry.
    fn stored(
        &mut self,
        selected: &Selected<'d>,
        form: &Form<'d>,
        (index, field): (usize, &'d Field),
        within: &mut ObjectReads<'_, 'd>,
    ) -> Option<ObjectValue> {
        if self.is_known(form, field) {
            return self.known(selected, form, (index, field), within);
        }
        let of = form.item_type()?;
        let is_read = within.place == Placement::Listed
            && matches!(form.kind, FormKind::Entry(..))
            && form.planned.reads_for_page(form.name, &field.name);
        if !is_read {
            return None;
        }
        let whole = within.fetched.whole.get_or_insert_with(|| Form::whole(form.planned, of)).clone();
        let value = Box::new(self.known(selected, &whole, (index, field), within)?);
        let excerpt = excerpt_of(form, field).and_then(|excerpt| form.slot(excerpt));
        Some(ObjectValue::OfWhole { value, excerpt })
    }

    /// Whether everything that the value of a field needs is in the form.
    fn is_known(&self, form: &Form<'d>, field: &Field) -> bool {
        match &field.kind {
            FieldKind::Stored(stored) if stored.source == ValueSource::Id => true,
            FieldKind::Reference(reference) => {
                let slot = form.slot(field);
                slot.is_some_and(|slot| form.target_id(reference, slot).is_some())
                    && frozen_copies(field, reference).all(|property| form.has(property))
            }
            _ => form.property(field).is_some(),
        }
    }

    fn known(
        &mut self,
        selected: &Selected<'d>,
        form: &Form<'d>,
        (index, field): (usize, &'d Field),
        within: &mut ObjectReads<'_, 'd>,
    ) -> Option<ObjectValue> {
        match &field.kind {
            FieldKind::Stored(stored) if stored.source == ValueSource::Id => {
                form.global_id().map(ObjectValue::GlobalId)
            }
            FieldKind::Stored(stored) => match &field.ty.of {
                TypeOf::Embedded(of) => self.embedded(selected, form, (field, of), within),
                TypeOf::Item(_) => None,
                _ if is_money(field) => self.money(selected, form, (field, stored)),
                _ => self.scalar(form, (index, field), stored),
            },
            FieldKind::Count(count) => match count.kept {
                Kept::Batch { .. } | Kept::Behind { .. } => {
                    let missing = Missing::Constant((*b"0").into(), 8);
                    Some(ObjectValue::Scalar(ScalarMember {
                        slot: form.slot(field)?,
                        kind: ScalarKind::Int,
                        missing,
                    }))
                }
                Kept::Query => None,
            },
            FieldKind::Reference(reference) => self.reference(selected, form, (field, reference), within),
            FieldKind::Related(_) | FieldKind::HasCaller(_) => None,
        }
    }

    fn scalar(
        &self,
        form: &Form<'d>,
        (index, field): (usize, &Field),
        stored: &StoredField,
    ) -> Option<ObjectValue> {
        let slot = form.slot(field)?;
        let kind = self.scalar_kind(form, field)?;
        let missing = self.missing(form, (index, field), stored, &kind)?;
        Some(match field.ty.list {
            None => ObjectValue::Scalar(ScalarMember { slot, kind, missing }),
            Some(_) => ObjectValue::Scalars { slot, kind, missing },
        })
    }

    fn scalar_kind(&self, form: &Form<'d>, field: &Field) -> Option<ScalarKind> {
        let format = format_of(field);
        Some(match &field.ty.of {
            TypeOf::Enum(of) => {
                let values = &form.planned.model.model().enum_type(of)?.values;
                let named = values.iter().flat_map(|value| {
                    let texts = std::iter::once(&value.stored).chain(&value.former);
                    let name: Box<[u8]> = format!("\"{}\"", value.name).into_bytes().into();
                    texts.map(move |text| (text.as_str().into(), name.clone()))
                });
                ScalarKind::Enum(named.collect())
            }
            TypeOf::Scalar(ScalarType::Int) => ScalarKind::Int,
            TypeOf::Scalar(ScalarType::Float) => ScalarKind::Float,
            TypeOf::Scalar(ScalarType::Boolean) => ScalarKind::Boolean,
            TypeOf::Scalar(_) => match format {
                Format::EpochSeconds => ScalarKind::Epoch { unit_ms: SECOND_MS },
                Format::EpochMillis => ScalarKind::Epoch { unit_ms: 1 },
                Format::Number => ScalarKind::DecimalNumber,
                Format::Iso => ScalarKind::Text,
            },
            TypeOf::Embedded(_) | TypeOf::Item(_) => return None,
        })
    }

    /// The value of a field whose property is absent.
    fn missing(
        &self,
        form: &Form<'d>,
        (index, field): (usize, &Field),
        stored: &StoredField,
        kind: &ScalarKind,
    ) -> Option<Missing> {
        let is_whole = matches!(form.kind, FormKind::Whole | FormKind::Embedded);
        Some(match (&stored.source, &stored.default) {
            (ValueSource::Computed(rule), _) => {
                let from = rule.from.first().and_then(|path| path.single());
                let text = from.and_then(|name| form.field(name)).filter(|_| is_whole);
                match (rule.function, text) {
                    (Function::Excerpt, Some((_, text))) if is_plain_text(text) => {
                        let characters = rule.length.unwrap_or(EXCERPT_CHARS) as usize;
                        Missing::Excerpt { text: form.slot(text)?, characters }
                    }
                    _ if is_whole && field.ty.list.is_none() => Missing::Computed(ComputedField {
                        model: form.model,
                        of: form.owner.clone(),
                        field: index,
                        kind: kind.clone(),
                    }),
                    _ => Missing::Unplanned,
                }
            }
            (_, Some(default)) => {
                let model = form.planned.model.model();
                let value = crate::served::stored::literal_of(model, field, &default.value);
                match constant_of(kind, &value) {
                    Some((json, bytes)) if field.ty.list.is_none() => Missing::Constant(json.into(), bytes),
                    _ => Missing::Unplanned,
                }
            }
            (ValueSource::Version(_), None) => Missing::Constant((*b"1").into(), 8),
            _ => absent(field),
        })
    }

    fn money(
        &mut self,
        selected: &Selected<'d>,
        form: &Form<'d>,
        (field, stored): (&'d Field, &StoredField),
    ) -> Option<ObjectValue> {
        let (amount, quantity) = match &stored.source {
            ValueSource::Computed(rule) if !rule.stored => {
                let (price, quantity) = price_and_quantity(form, rule)?;
                (price, Some(quantity))
            }
            ValueSource::Computed(_) => (field, None),
            _ if stored.default.is_some() => return None,
            _ => (field, None),
        };
        let FieldKind::Stored(StoredField { currency: Some(currency), .. }) = &amount.kind else {
            return None;
        };
        let (path, is_currency_of_item) = match currency {
            CurrencyProperty::Beside(path) => (path, false),
            CurrencyProperty::OfItem(path) => (path, true),
        };
        let holder = if is_currency_of_item { &form.item } else { &form.shape };
        let currency = holder.slot(single(path)?)?;
        let minor_units = form.slot(amount)?;
        let is_computed = matches!(stored.source, ValueSource::Computed(_));
        let missing = if is_computed { Missing::Unplanned } else { absent(field) };
        let source = MoneySource { minor_units, quantity, currency, is_currency_of_item, missing };
        let mut planned = Fields::default();
        for selected in self.selections.select(&selected.sets(), "Money", false)? {
            if self.push_type_name(&mut planned, &selected, "Money", MoneyMember::Constant) {
                continue;
            }
            let value = match selected.name() {
                "amount" => MoneyMember::Amount,
                "currencyCode" => MoneyMember::CurrencyCode,
                _ => return None,
            };
            self.push(&mut planned, &selected, 0, value);
        }
        Some(ObjectValue::Money(source, planned))
    }

    fn embedded(
        &mut self,
        selected: &Selected<'d>,
        form: &Form<'d>,
        (field, of): (&'d Field, &Name),
        within: &mut ObjectReads<'_, 'd>,
    ) -> Option<ObjectValue> {
        let slot = form.slot(field)?;
        let inner = form.embedded(of)?;
        let mut part = ObjectReads { place: Placement::Part, fetched: &mut *within.fetched, outer: None };
        let fields = self.object(&selected.sets(), &inner, &mut part)?;
        let missing = match &field.kind {
            FieldKind::Stored(stored) if stored.default.is_some() => Missing::Unplanned,
            FieldKind::Stored(StoredField { source: ValueSource::Computed(_), .. }) => return None,
            _ => absent(field),
        };
        let shape = inner.shape.build();
        self.bytes += shape.heap_bytes();
        Some(match field.ty.list {
            None => ObjectValue::Embedded { slot, missing, shape, fields },
            Some(_) => ObjectValue::EmbeddedList { slot, missing, shape, fields },
        })
    }

    /// The target of a reference, as far as the copies beside it show it.
    fn reference(
        &mut self,
        selected: &Selected<'d>,
        form: &Form<'d>,
        (field, reference): (&'d Field, &'d ReferenceField),
        within: &mut ObjectReads<'_, 'd>,
    ) -> Option<ObjectValue> {
        let slot = form.slot(field)?;
        let of = self.schema.type_of(form.model, &reference.target)?;
        let planned = self.schema.model(of);
        let grants = &planned.model.ty(of.ty).item.authorization.read;
        let mut part = ObjectReads { place: Placement::Part, fetched: &mut *within.fetched, outer: None };
        if field.ty.list.is_none() {
            let target = form.target_id(reference, slot)?;
            let kind = FormKind::Target(reference, Box::new(target));
            let target = Form::of_item(planned, of, kind, form.shape.clone());
            let guard = target.guard(grants)?;
            let fields = self.object(&selected.sets(), &target, &mut part)?;
            return Some(ObjectValue::Target { id: slot, missing: absent(field), guard, fields });
        }
        // The partition key of its targets lies beside the list, not in its elements.
        if !reference.partition.is_empty() {
            return None;
        }
        let has_copies = !reference.copies.is_empty();
        let element = Form::of_item(planned, of, FormKind::Whole, ShapeBuilder::default());
        let target = TargetId {
            id: element.shape.slot("id")?,
            partition: Vec::new(),
            copies: reference.copies.iter().filter_map(|copy| single(&copy.property)).collect(),
        };
        let kind = FormKind::Target(reference, Box::new(target));
        let element = Form { kind, ..element };
        let guard = element.guard(grants)?;
        let fields = self.object(&selected.sets(), &element, &mut part)?;
        let elements =
            if has_copies { TargetElements::Objects(element.shape.build()) } else { TargetElements::Ids };
        Some(ObjectValue::Targets { slot, elements, guard, fields })
    }
}

/// Whether a reference's target is read together with the item.
fn is_read_with(form: &Form<'_>, field: &Field) -> bool {
    let read_with = form.item_type().and_then(|of| form.planned.read_with(of.ty));
    read_with.is_some_and(|read_with| read_with.name == field.name)
}

/// The value of a field without a default whose property is absent.
fn absent(field: &Field) -> Missing {
    match (field.ty.non_null, field.ty.list) {
        (false, _) => Missing::Null,
        (true, Some(_)) => Missing::EmptyList,
        (true, None) => Missing::Unplanned,
    }
}

/// The amount and the whole number of a product, each of them stored, in any order.
fn price_and_quantity<'m>(form: &Form<'m>, rule: &Computed) -> Option<(&'m Field, Quantity)> {
    let [one, other] = rule.from.as_slice() else { return None };
    let field = |path: &FieldPath| Some(form.field(path.single()?)?.1);
    let (one, other) = (field(one)?, field(other)?);
    let (price, quantity) = if is_money(one) { (one, other) } else { (other, one) };
    let default = |field: &Field| match &field.kind {
        FieldKind::Stored(stored) if !matches!(stored.source, ValueSource::Computed(_)) => {
            Some(stored.default.as_ref().map(|default| default.value.clone()))
        }
        _ => None,
    };
    let is_product = rule.function == Function::Product && is_money(price) && default(price)?.is_none();
    let is_count = quantity.ty.of == TypeOf::Scalar(ScalarType::Int) && quantity.ty.list.is_none();
    let default = match default(quantity)? {
        None => None,
        Some(Literal::Int(number)) => Some(number),
        Some(_) => return None,
    };
    let slot = form.slot(quantity)?;
    (is_product && is_count).then_some((price, Quantity { slot, default }))
}

fn is_plain_text(field: &Field) -> bool {
    let is_stored = matches!(&field.kind, FieldKind::Stored(stored) if stored.default.is_none()
        && !matches!(stored.source, ValueSource::Computed(_)));
    is_stored && field.ty.list.is_none() && field.ty.of == TypeOf::Scalar(ScalarType::String)
}

/// The excerpt of a field, which stands for the text of a deleted item.
fn excerpt_of<'m>(form: &Form<'m>, field: &Field) -> Option<&'m Field> {
    form.fields.iter().find(|candidate| match &candidate.kind {
        FieldKind::Stored(StoredField { source: ValueSource::Computed(rule), .. }) => {
            let from = rule.from.first().and_then(|path| path.single());
            rule.function == Function::Excerpt && from == Some(&field.name)
        }
        _ => false,
    })
}

/// The right of the caller to an action on an object; `None` where that takes another read.
fn right_of(right: AddedRight, form: &Form<'_>, outer: Option<Outer<'_, '_>>) -> Option<Right> {
    let AddedRight { action, or_staff, until } = right;
    let of = form.item_type()?;
    let grants = form.planned.model.ty(of.ty).item.authorization.of(action).clone();
    let owner = |path: &onehop_model::FieldPath| match path.fields() {
        [name] => form.owner_slot(name).map(RightOwner::Own),
        [reference, name] => {
            let outer = outer.filter(|outer| outer.reference == reference)?;
            outer.form.owner_slot(name).map(RightOwner::Outer)
        }
        _ => None,
    };
    let owners = grants.owner.iter().map(owner).collect::<Option<_>>()?;
    let ends = |name: &&str| form.field(name).and_then(|(_, field)| form.slot(field));
    let until = until.iter().map(ends).collect::<Option<_>>()?;
    Some(Right { model: form.model, grants, or_staff, owners, until })
}

/// The properties of the entries of a list.
pub(super) fn entry_form<'m>(fields: &[&'static str], id_property: &'static str) -> FormKind<'m> {
    FormKind::Entry(Rc::from(fields), id_property)
}
