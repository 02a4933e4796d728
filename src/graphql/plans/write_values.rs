//! Writing values by a plan: scalars in lists, absent values, global ids, amounts, and objects within an
//! item.

use super::computed::computed;
use super::plan::{
    Fields, GlobalIdSource, Guard, KeyPart, Missing, MoneyMember, MoneySource, ObjectValue, Quantity,
    ScalarKind, TargetElements,
};
use super::read::key_of;
use super::scalars::{WORD_BYTES, write_scalar};
use super::schema::IdFormat;
use super::unplanned::Unplanned;
use super::write::{DataWriter, NESTED_BYTES, NULL, ObjectSource, part};
use crate::domain::money::StoredAmount;
use crate::domain::stored_json::{
    MemberSlot, ShapeReader, StoredMembers, StoredShape, StoredValue, elements, unescaped,
};
use crate::graphql::ids::encode_uuids;
use crate::served::write_global_id;
use onehop_read_models::excerpt;

impl DataWriter<'_> {
    pub(super) fn scalars(&mut self, list: &str, kind: &ScalarKind, times: usize) -> Result<(), Unplanned> {
        self.nested(times);
        self.put(b"[");
        for (place, element) in elements(list).ok_or(Unplanned)?.into_iter().enumerate() {
            if place > 0 {
                self.put(b",");
            }
            let bytes = match element {
                Some(element) => write_scalar(self.out, kind, element).ok_or(Unplanned)?,
                None if matches!(kind, ScalarKind::Enum(_)) => return Err(Unplanned),
                None => {
                    self.put(NULL);
                    WORD_BYTES
                }
            };
            self.count_element(bytes, times);
        }
        self.put(b"]");
        Ok(())
    }

    pub(super) fn missing(
        &mut self,
        missing: &Missing,
        times: usize,
        source: ObjectSource<'_>,
    ) -> Result<(), Unplanned> {
        match missing {
            Missing::Unplanned => return Err(Unplanned),
            Missing::Null => self.null(times),
            Missing::EmptyList => {
                self.nested(times);
                self.put(b"[]");
            }
            Missing::Constant(json, bytes) => {
                self.put(json);
                self.bytes += bytes * times;
            }
            Missing::Excerpt { text, characters } => {
                let text = source.object.text(*text).ok_or(Unplanned)?;
                let start = self.out.len();
                let excerpt = excerpt(&text, *characters);
                serde_json::to_writer(&mut *self.out, &excerpt).map_err(|_| Unplanned)?;
                self.bytes += (self.out.len() - start) * times;
            }
            Missing::Computed(field) => {
                let schema = self.request.schema;
                let bytes = computed(field, schema, self.out, source.object.body()).ok_or(Unplanned)?;
                self.bytes += bytes * times;
            }
        }
        Ok(())
    }

    pub(super) fn global_id(
        &mut self,
        source: &GlobalIdSource,
        members: &StoredMembers<'_>,
        times: usize,
    ) -> Result<(), Unplanned> {
        let start = self.out.len();
        self.put(b"\"");
        match (source.format, source.partition.as_slice()) {
            (IdFormat::Uuids(kind), []) => {
                encode_uuids(kind, &[members.uuid(source.id).ok_or(Unplanned)?], self.out);
            }
            (IdFormat::Uuids(kind), [KeyPart::Member(partition)]) => {
                let partition = members.uuid(*partition).ok_or(Unplanned)?;
                let id = members.uuid(source.id).ok_or(Unplanned)?;
                encode_uuids(kind, &[partition, id], self.out);
            }
            (IdFormat::Uuids(_), _) => return Err(Unplanned),
            (IdFormat::Texts(type_value), parts) => {
                let id = members.text(source.id).ok_or(Unplanned)?;
                let partition = match parts {
                    [] => None,
                    parts => Some(key_of(parts, &id, members).ok_or(Unplanned)?),
                };
                write_global_id(type_value, &id, partition.as_deref(), self.out);
            }
        }
        self.put(b"\"");
        self.bytes += (self.out.len() - start) * times;
        Ok(())
    }

    pub(super) fn money(
        &mut self,
        money: &MoneySource,
        fields: &Fields<MoneyMember>,
        times: usize,
        source: ObjectSource<'_>,
    ) -> Result<(), Unplanned> {
        let holder = if money.is_currency_of_item { source.item } else { source.object };
        let (amount, currency) = (source.object.value(money.minor_units), holder.value(money.currency));
        let (Some(_), Some(StoredValue::Text(currency))) = (amount, currency) else {
            return self.missing(&money.missing, times, source);
        };
        let integer = |slot: MemberSlot| source.object.integer(slot).ok_or(Unplanned);
        let quantity = match &money.quantity {
            None => 1,
            Some(Quantity { slot, default: Some(default) }) if source.object.value(*slot).is_none() => {
                *default
            }
            Some(quantity) => integer(quantity.slot)?,
        };
        let minor_units = integer(money.minor_units)?.checked_mul(quantity).ok_or(Unplanned)?;
        let code = unescaped(currency).ok_or(Unplanned)?;
        self.nested(times);
        for field in &fields.fields {
            self.put(&field.before);
            match &field.value {
                MoneyMember::Constant(value) => self.put(value),
                MoneyMember::Amount => {
                    let amount = StoredAmount { minor_units, currency_code: &code };
                    self.put_text(&format!("\"{amount}\""), field.times);
                }
                MoneyMember::CurrencyCode => self.put_text(currency, field.times),
            }
        }
        self.close(fields);
        Ok(())
    }

    pub(super) fn targets(
        &mut self,
        list: &str,
        planned: &TargetElements,
        (guard, fields): (Option<&Guard>, &Fields<ObjectValue>),
        times: usize,
        source: ObjectSource<'_>,
    ) -> Result<(), Unplanned> {
        let ids = StoredShape::of(vec!["id"]);
        let mut reader = match planned {
            TargetElements::Objects(shape) => ShapeReader::new(shape),
            TargetElements::Ids => ShapeReader::new(&ids),
        };
        self.put(b"[");
        for (place, element) in elements(list).ok_or(Unplanned)?.into_iter().enumerate() {
            if place > 0 {
                self.put(b",");
            }
            self.count_element(NESTED_BYTES, times);
            match (planned, element) {
                (TargetElements::Objects(_), Some(StoredValue::Object(json))) => {
                    let members = reader.read(json.as_bytes()).ok_or(Unplanned)?;
                    let part = ObjectSource { object: &members, item: &members, ..part(source) };
                    self.guarded(guard, fields, part)?;
                }
                (TargetElements::Ids, Some(StoredValue::Text(json))) => {
                    let object = format!("{{\"id\":{json}}}");
                    let mut reader = ShapeReader::new(&ids);
                    let members = reader.read(object.as_bytes()).ok_or(Unplanned)?;
                    let part = ObjectSource { object: &members, item: &members, ..part(source) };
                    self.guarded(guard, fields, part)?;
                }
                _ => return Err(Unplanned),
            }
        }
        self.put(b"]");
        Ok(())
    }

    pub(super) fn embedded_list(
        &mut self,
        list: &str,
        shape: &StoredShape,
        fields: &Fields<ObjectValue>,
        times: usize,
        source: ObjectSource<'_>,
    ) -> Result<(), Unplanned> {
        let mut reader = ShapeReader::new(shape);
        self.put(b"[");
        for (place, element) in elements(list).ok_or(Unplanned)?.into_iter().enumerate() {
            if place > 0 {
                self.put(b",");
            }
            let Some(StoredValue::Object(json)) = element else { return Err(Unplanned) };
            let members = reader.read(json.as_bytes()).ok_or(Unplanned)?;
            self.count_element(NESTED_BYTES, times);
            self.object(fields, ObjectSource { object: &members, ..part(source) })?;
        }
        self.put(b"]");
        Ok(())
    }
}
