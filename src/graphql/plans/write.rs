//! Writing by a plan: the data of a response, straight from the bodies of stored items into one buffer.

use super::guards::{has_right, is_admitted};
use super::plan::{Fields, Guard, ObjectValue, Plan, RootValue, ScalarKind, ScalarMember};
use super::read::{ListItems, PointItems, RootItems};
use super::request::PlanRequest;
use super::scalars::{word, write_scalar};
use super::unplanned::Unplanned;
use crate::domain::ids::creation_ms;
use crate::domain::stored_json::{ShapeReader, StoredMembers, StoredValue};
use onehop_graphql_server::written_response::WrittenData;
use onehop_runtime::clock::format_timestamp;

/// The bytes of names, punctuation and computed values beside the bodies, for each item and once.
const BYTES_BESIDE_BODY: usize = 64;
const BYTES_BESIDE_ITEMS: usize = 512;
/// Bytes of an object or a list in the response budget.
pub(super) const NESTED_BYTES: usize = 3;
pub(super) const NULL: &[u8] = b"null";

/// Writes the data of a response within its budget.
pub(super) fn write(
    plan: &Plan,
    read: &[RootItems<'_>],
    request: PlanRequest<'_>,
) -> Result<WrittenData, Unplanned> {
    let expected = read.iter().map(RootItems::bytes_expected).sum::<usize>();
    let mut data = WrittenData::with_capacity(expected + BYTES_BESIDE_ITEMS);
    let mut writer = DataWriter { out: data.buffer(), request, bytes: 0 };
    for (field, read) in plan.roots.fields.iter().zip(read) {
        writer.put(&field.before);
        match (&field.value, read) {
            (RootValue::Constant(value), _) => writer.put(value),
            (_, RootItems::Null) => writer.root_null(),
            (_, RootItems::Point(point)) => {
                writer.root_nested();
                writer.point(point)?;
            }
            (RootValue::Nodes(..), RootItems::Points(points)) => writer.points(points)?,
            (RootValue::List(plan), RootItems::List(list)) => {
                writer.root_nested();
                writer.list_field(plan, list, None, 1)?;
            }
            _ => return Err(Unplanned),
        }
    }
    if request.schema.rules.counts_elements {
        writer.bytes += plan.roots.bytes;
    }
    writer.put_end(&plan.roots);
    writer.settle()?;
    Ok(data)
}

impl RootItems<'_> {
    fn bytes_expected(&self) -> usize {
        match self {
            Self::Constant | Self::Null => 0,
            Self::Point(point) => point.bytes_expected(),
            Self::Points(points) => points.iter().flatten().map(PointItems::bytes_expected).sum(),
            Self::List(list) => list.bytes_expected(),
        }
    }
}

impl PointItems<'_> {
    fn bytes_expected(&self) -> usize {
        self.item.bytes() + self.lists.iter().map(ListItems::bytes_expected).sum::<usize>()
    }
}

impl ListItems {
    fn bytes_expected(&self) -> usize {
        let items = self.items.iter().map(|item| item.body.len() + BYTES_BESIDE_BODY);
        let whole = self.whole.iter().flatten().map(|item| item.body.len());
        items.sum::<usize>() + whole.sum::<usize>()
    }
}

/// Where an object's values are.
#[derive(Clone, Copy)]
pub(super) struct ObjectSource<'a> {
    pub(super) object: &'a StoredMembers<'a>,
    /// The members of the item that the object is in.
    pub(super) item: &'a StoredMembers<'a>,
    /// The members of the item that this one is below, or that was read together with it.
    pub(super) outer: Option<&'a StoredMembers<'a>>,
    /// The items read with an object that was read by itself.
    pub(super) point: Option<&'a PointItems<'a>>,
    pub(super) has_caller: bool,
    /// The whole item of an entry.
    pub(super) whole: Option<&'a StoredMembers<'a>>,
}

pub(super) struct DataWriter<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) request: PlanRequest<'a>,
    /// Bytes that are not yet taken from the response budget.
    pub(super) bytes: usize,
}

impl DataWriter<'_> {
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// A text that counts with its length, as often as it is selected.
    pub(super) fn put_text(&mut self, json: &str, times: usize) {
        self.bytes += json.len() * times;
        self.put(json.as_bytes());
    }

    /// Ends an object, which begins with its first field, and counts its bytes.
    pub(super) fn close<V>(&mut self, fields: &Fields<V>) {
        self.put_end(fields);
        self.bytes += fields.bytes;
    }

    fn put_end<V>(&mut self, fields: &Fields<V>) {
        self.put(if fields.fields.is_empty() { b"{}" } else { b"}" });
    }

    /// Takes the written bytes from the response budget.
    pub(super) fn settle(&mut self) -> Result<(), Unplanned> {
        let bytes = std::mem::take(&mut self.bytes);
        self.request.budget.try_take(bytes).then_some(()).ok_or(Unplanned)
    }

    fn root_null(&mut self) {
        self.put(NULL);
        if self.request.schema.rules.counts_elements {
            self.bytes += self.request.schema.rules.null_bytes;
        }
    }

    fn root_nested(&mut self) {
        if self.request.schema.rules.counts_elements {
            self.bytes += NESTED_BYTES;
        }
    }

    /// Counts an element of a list that takes these bytes.
    pub(super) fn count_element(&mut self, bytes: usize, times: usize) {
        if self.request.schema.rules.counts_elements {
            self.bytes += bytes * times;
        }
    }

    pub(super) fn null(&mut self, times: usize) {
        self.put(NULL);
        self.bytes += self.request.schema.rules.null_bytes * times;
    }

    pub(super) fn nested(&mut self, times: usize) {
        self.bytes += NESTED_BYTES * times;
    }

    fn points(&mut self, points: &[Option<PointItems<'_>>]) -> Result<(), Unplanned> {
        self.root_nested();
        self.put(b"[");
        for (place, point) in points.iter().enumerate() {
            if place > 0 {
                self.put(b",");
            }
            match point {
                Some(point) => {
                    self.count_element(NESTED_BYTES, 1);
                    if let Some(guard) = &point.plan.guard {
                        is_admitted(guard, self.request.caller, &point.item.members()?)?;
                    }
                    self.point(point)?;
                }
                None => self.null(1),
            }
            self.settle()?;
        }
        self.put(b"]");
        Ok(())
    }

    fn point(&mut self, point: &PointItems<'_>) -> Result<(), Unplanned> {
        let object = point.item.members()?;
        let beside = point.beside.as_ref().map(|beside| beside.members()).transpose()?;
        let source = ObjectSource {
            object: &object,
            item: &object,
            outer: beside.as_ref(),
            point: Some(point),
            has_caller: point.has_caller,
            whole: None,
        };
        self.object(&point.plan.object, source)
    }

    pub(super) fn object(
        &mut self,
        plan: &Fields<ObjectValue>,
        source: ObjectSource<'_>,
    ) -> Result<(), Unplanned> {
        for field in &plan.fields {
            self.put(&field.before);
            self.value(&field.value, field.times, source)?;
        }
        self.close(plan);
        Ok(())
    }

    fn value(
        &mut self,
        value: &ObjectValue,
        times: usize,
        source: ObjectSource<'_>,
    ) -> Result<(), Unplanned> {
        let ObjectSource { object, outer, point, has_caller, whole, .. } = source;
        match value {
            ObjectValue::Constant(value) => self.put(value),
            ObjectValue::Scalar(scalar) => self.scalar(scalar, times, source)?,
            ObjectValue::Scalars { slot, kind, missing } => match object.value(*slot) {
                Some(StoredValue::List(list)) => self.scalars(list, kind, times)?,
                Some(_) => return Err(Unplanned),
                None => self.missing(missing, times, source)?,
            },
            ObjectValue::GlobalId(id) => self.global_id(id, object, times)?,
            ObjectValue::Money(money, fields) => self.money(money, fields, times, source)?,
            ObjectValue::CreationDateOfId(slot) => match creation_ms(object.uuid(*slot).ok_or(Unplanned)?) {
                Some(date_ms) => self.put_text(&format!("\"{}\"", format_timestamp(date_ms)), times),
                None => self.null(times),
            },
            ObjectValue::HasCaller => self.put(word(has_caller)),
            ObjectValue::Right(right) => {
                let has_right = has_right(right, self.request.caller, object, outer)?;
                self.put(word(has_right));
            }
            ObjectValue::Guarded(guard, value) => {
                is_admitted(guard, self.request.caller, object)?;
                self.value(value, times, source)?;
            }
            ObjectValue::Target { id, missing, guard, fields } => {
                if object.value(*id).is_none() {
                    return self.missing(missing, times, source);
                }
                self.nested(times);
                self.guarded(guard.as_ref(), fields, ObjectSource { item: object, ..part(source) })?;
            }
            ObjectValue::Targets { slot, elements, guard, fields } => {
                self.nested(times);
                match object.value(*slot) {
                    None => self.put(b"[]"),
                    Some(StoredValue::List(list)) => {
                        self.targets(list, elements, (guard.as_ref(), fields), times, source)?;
                    }
                    Some(_) => return Err(Unplanned),
                }
            }
            ObjectValue::Embedded { slot, missing, shape, fields } => match object.value(*slot) {
                Some(StoredValue::Object(json)) => {
                    self.nested(times);
                    let mut reader = ShapeReader::new(shape);
                    let members = reader.read(json.as_bytes()).ok_or(Unplanned)?;
                    self.object(fields, ObjectSource { object: &members, ..part(source) })?;
                }
                Some(_) => return Err(Unplanned),
                None => self.missing(missing, times, source)?,
            },
            ObjectValue::EmbeddedList { slot, missing, shape, fields } => match object.value(*slot) {
                Some(StoredValue::List(list)) => {
                    self.nested(times);
                    self.embedded_list(list, shape, fields, times, source)?;
                }
                Some(_) => return Err(Unplanned),
                None => self.missing(missing, times, source)?,
            },
            ObjectValue::Beside(fields) => {
                self.nested(times);
                let beside = outer.ok_or(Unplanned)?;
                self.object(
                    fields,
                    ObjectSource { object: beside, item: beside, has_caller, ..part(source) },
                )?;
            }
            ObjectValue::OfWhole { value, excerpt } => match whole {
                Some(whole) => {
                    let source = ObjectSource { object: whole, item: whole, whole: None, ..source };
                    self.value(value, times, source)?;
                }
                // It was deleted.
                None => {
                    let excerpt = excerpt.and_then(|slot| object.text_json(slot)).ok_or(Unplanned)?;
                    self.put_text(excerpt, times);
                }
            },
            ObjectValue::List(place) => {
                let point = point.ok_or(Unplanned)?;
                self.nested(times);
                match (point.plan.lists.get(*place), point.lists.get(*place)) {
                    (Some(plan), Some(list)) => self.list_field(plan, list, Some(object), times)?,
                    _ => return Err(Unplanned),
                }
            }
        }
        Ok(())
    }

    /// An object for callers with a grant on it.
    pub(super) fn guarded(
        &mut self,
        guard: Option<&Guard>,
        fields: &Fields<ObjectValue>,
        source: ObjectSource<'_>,
    ) -> Result<(), Unplanned> {
        if let Some(guard) = guard {
            is_admitted(guard, self.request.caller, source.object)?;
        }
        self.object(fields, source)
    }

    fn scalar(
        &mut self,
        scalar: &ScalarMember,
        times: usize,
        source: ObjectSource<'_>,
    ) -> Result<(), Unplanned> {
        match source.object.value(scalar.slot) {
            Some(StoredValue::Text(json)) if matches!(scalar.kind, ScalarKind::Text) => {
                self.put_text(json, times);
            }
            Some(value) => {
                let bytes = write_scalar(self.out, &scalar.kind, value).ok_or(Unplanned)?;
                self.bytes += bytes * times;
            }
            None => self.missing(&scalar.missing, times, source)?,
        }
        Ok(())
    }
}

/// The source of a part of an object: without the reads of the object.
pub(super) fn part<'a>(source: ObjectSource<'a>) -> ObjectSource<'a> {
    ObjectSource { outer: None, point: None, has_caller: false, whole: None, ..source }
}
