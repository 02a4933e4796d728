//! Writing lists by a plan: the items of a page, their cursors, and the place of the page in its list.

use serde_json::Map;

use super::guards::is_admitted;
use super::plan::{ConnectionValue, EdgeValue, Fields, ListFields, ListPlan, PageInfoValue};
use super::read::{ListItems, json_of};
use super::request::PlanRequest;
use super::scalars::{WORD_BYTES, word};
use super::unplanned::Unplanned;
use super::write::{DataWriter, NESTED_BYTES, ObjectSource};
use crate::domain::stored_json::{ShapeReader, StoredMembers};
use crate::served::ListPosition;
use onehop_store::Item;

impl DataWriter<'_> {
    /// A list, below an item or at the root.
    pub(super) fn list_field(
        &mut self,
        plan: &ListPlan,
        list: &ListItems,
        owner: Option<&StoredMembers<'_>>,
        times: usize,
    ) -> Result<(), Unplanned> {
        match &plan.fields {
            ListFields::Plain(fields) => {
                self.items(plan, list, owner, times, |writer, _, source| writer.object(fields, source))
            }
            ListFields::Connection(fields) => self.connection(plan, list, owner, fields),
        }
    }

    fn connection(
        &mut self,
        plan: &ListPlan,
        list: &ListItems,
        owner: Option<&StoredMembers<'_>>,
        fields: &Fields<ConnectionValue>,
    ) -> Result<(), Unplanned> {
        // A list without selected items has no deleted or unreadable ones, either.
        let selects_items =
            |value: &ConnectionValue| matches!(value, ConnectionValue::Nodes(_) | ConnectionValue::Edges(_));
        if !fields.fields.iter().any(|field| selects_items(&field.value)) {
            let mut reader = ShapeReader::new(&plan.shape);
            for item in list.items() {
                let members = read_item(plan, &mut reader, item)?;
                self.admit(plan, &members)?;
            }
        }
        for field in &fields.fields {
            self.put(&field.before);
            match &field.value {
                ConnectionValue::Constant(value) => self.put(value),
                ConnectionValue::Nodes(fields) => {
                    self.items(plan, list, owner, field.times, |writer, _, source| {
                        writer.object(fields, source)
                    })?;
                }
                ConnectionValue::Edges(fields) => {
                    self.items(plan, list, owner, field.times, |writer, place, source| {
                        writer.edge(plan, (list, place), fields, source)
                    })?;
                }
                ConnectionValue::PageInfo(fields) => self.page_info(plan, list, fields)?,
            }
        }
        self.close(fields);
        Ok(())
    }

    fn admit(&self, plan: &ListPlan, members: &StoredMembers<'_>) -> Result<(), Unplanned> {
        match &plan.guard {
            Some(guard) => is_admitted(guard, self.request.caller, members),
            None => Ok(()),
        }
    }

    fn items(
        &mut self,
        plan: &ListPlan,
        list: &ListItems,
        owner: Option<&StoredMembers<'_>>,
        times: usize,
        mut write: impl FnMut(&mut Self, usize, ObjectSource<'_>) -> Result<(), Unplanned>,
    ) -> Result<(), Unplanned> {
        let mut reader = ShapeReader::new(&plan.shape);
        let mut whole_reader = plan.whole.as_ref().map(|whole| (whole, ShapeReader::new(&whole.shape)));
        self.put(b"[");
        for (place, item) in list.items().enumerate() {
            if place > 0 {
                self.put(b",");
            }
            let read_at = list.read_at(place);
            let members = read_item(plan, &mut reader, item)?;
            self.admit(plan, &members)?;
            let whole = match (&mut whole_reader, list.whole.get(read_at)) {
                (Some((whole, reader)), Some(Some(item))) => {
                    let members = reader.read(&item.body).ok_or(Unplanned)?;
                    whole.is_present(&members).then_some(members)
                }
                _ => None,
            };
            let has_caller = list.have_caller.get(read_at).copied().unwrap_or_default();
            let source = ObjectSource {
                object: &members,
                item: &members,
                outer: owner,
                point: None,
                has_caller,
                whole: whole.as_ref(),
            };
            self.count_element(NESTED_BYTES, times);
            write(self, place, source)?;
            self.settle()?;
        }
        self.put(b"]");
        Ok(())
    }

    fn edge(
        &mut self,
        plan: &ListPlan,
        (list, place): (&ListItems, usize),
        fields: &Fields<EdgeValue>,
        source: ObjectSource<'_>,
    ) -> Result<(), Unplanned> {
        for field in &fields.fields {
            self.put(&field.before);
            match &field.value {
                EdgeValue::Constant(value) => self.put(value),
                EdgeValue::Node(fields) => self.object(fields, source)?,
                EdgeValue::Cursor => {
                    let position = position(self.request, plan, (list, place), source.object)?;
                    self.cursor(plan, list, &position, field.times)?;
                }
            }
        }
        self.close(fields);
        Ok(())
    }

    fn page_info(
        &mut self,
        plan: &ListPlan,
        list: &ListItems,
        fields: &Fields<PageInfoValue>,
    ) -> Result<(), Unplanned> {
        for field in &fields.fields {
            self.put(&field.before);
            match &field.value {
                PageInfoValue::Constant(value) => self.put(value),
                PageInfoValue::HasNextPage => self.put(word(list.has_next)),
                PageInfoValue::HasPreviousPage => self.put(word(list.has_previous)),
                PageInfoValue::StartCursor => {
                    self.cursor_of(plan, list, (list.start.as_ref(), 0), field.times)?;
                }
                PageInfoValue::EndCursor => {
                    let last = list.items.len().saturating_sub(1);
                    self.cursor_of(plan, list, (list.end.as_ref(), last), field.times)?;
                }
            }
        }
        self.close(fields);
        Ok(())
    }

    /// The cursor of an end of the page: of a position beyond its items, or of the item at a place.
    fn cursor_of(
        &mut self,
        plan: &ListPlan,
        list: &ListItems,
        (beyond, place): (Option<&ListPosition>, usize),
        times: usize,
    ) -> Result<(), Unplanned> {
        match (beyond, list.items().nth(place)) {
            (Some(position), _) => self.cursor(plan, list, position, times),
            (None, Some(item)) => {
                let mut reader = ShapeReader::new(&plan.shape);
                let members = read_item(plan, &mut reader, item)?;
                let position = position(self.request, plan, (list, place), &members)?;
                self.cursor(plan, list, &position, times)
            }
            (None, None) => {
                self.put(b"null");
                self.bytes += WORD_BYTES * times;
                Ok(())
            }
        }
    }

    fn cursor(
        &mut self,
        plan: &ListPlan,
        list: &ListItems,
        position: &ListPosition,
        times: usize,
    ) -> Result<(), Unplanned> {
        let format = plan.cursors.as_ref().ok_or(Unplanned)?;
        let cursor = format.encode(list.owner.as_ref(), position).ok_or(Unplanned)?;
        self.put(b"\"");
        self.put(cursor.as_bytes());
        self.put(b"\"");
        self.bytes += (cursor.len() + 2) * times;
        Ok(())
    }
}

/// The position of an item in its list.
fn position(
    request: PlanRequest<'_>,
    plan: &ListPlan,
    (list, place): (&ListItems, usize),
    members: &StoredMembers<'_>,
) -> Result<ListPosition, Unplanned> {
    if let Some(position) = list.positions.get(place) {
        return Ok(position.clone());
    }
    let mut body = Map::new();
    for (property, slot) in &plan.order {
        body.insert((*property).to_owned(), json_of(members, *slot)?);
    }
    let reads = request.reads(plan.of).ok_or(Unplanned)?;
    Ok(reads.position_of(&body, &plan.place))
}

/// The members of an item of a list, in which nothing is deleted.
fn read_item<'m, 'b: 'm>(
    plan: &ListPlan,
    reader: &'m mut ShapeReader<'_, 'b>,
    item: &'b Item,
) -> Result<StoredMembers<'m>, Unplanned> {
    let members = reader.read(&item.body).ok_or(Unplanned)?;
    let has_key = plan.key.iter().all(|slot| members.value(*slot).is_some());
    let is_sound = has_key && members.text_json(plan.id).is_some() && !members.flag(plan.deleted);
    is_sound.then_some(members).ok_or(Unplanned)
}
