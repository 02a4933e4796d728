//! Writing by a plan: the data of a response, straight from the bodies of stored items into one buffer.

use std::borrow::Cow;
use std::io::Write as _;

use uuid::Uuid;

use super::objects::{AmountSource, CurrencySource, IdFormat, ListItems, ListType, ViewerRight};
use super::plan::{
    ConnectionPlan, ConnectionValue, EdgeValue, Fields, ObjectValue, PageInfoValue, Plan, RootValue,
};
use super::read::{PageItems, PointItems, RootItems, Unplanned};
use super::request::{PlanCaller, PlanRequest};
use crate::blog::ids::{CommentId, LikeId, PostId, UserId};
use crate::blog::items::TEXT_VERSION_FIRST;
use crate::blog::reads::shapes::POST;
use crate::blog::summary::summarise;
use crate::domain::cursor;
use crate::domain::ids::creation_ms;
use crate::domain::money::StoredAmount;
use crate::domain::stored_json::{MemberSlot, StoredMembers, StoredShape};
use crate::graphql::ids::GlobalId;
use crate::webstore::ids::{CategoryId, CustomerId, ProductId, SalesOrderId, TagId};
use onehop_graphql_server::written_response::WrittenData;
use onehop_runtime::clock::format_timestamp;
use onehop_store::Item;

/// The bytes of names, punctuation and computed values beside the bodies, for each item and once.
const BYTES_BESIDE_BODY: usize = 64;
const BYTES_BESIDE_ITEMS: usize = 512;
/// Null, in JSON and in the response budget.
const NULL: &[u8] = b"null";
const NULL_BYTES: usize = 5;

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
            (_, RootItems::Null) => writer.put(NULL),
            (_, RootItems::Point(point)) => writer.point(point)?,
            (RootValue::Page(plan), RootItems::List(page)) => writer.connection(plan, page, None)?,
            (RootValue::All(list, plan), RootItems::List(page)) => {
                writer.list(list, page, None, |writer, source| writer.object(plan, source))?;
            }
            _ => return Err(Unplanned),
        }
    }
    // The fields at the root take nothing themselves.
    writer.put_end(&plan.roots);
    writer.settle()?;
    Ok(data)
}

impl RootItems<'_> {
    fn bytes_expected(&self) -> usize {
        match self {
            Self::Constant | Self::Null => 0,
            Self::Point(point) => {
                let pages = point.pages.iter().map(PageItems::bytes_expected);
                point.item.body.len() + pages.sum::<usize>()
            }
            Self::List(page) => page.bytes_expected(),
        }
    }
}

impl PageItems {
    fn bytes_expected(&self) -> usize {
        let items = self.page.items.iter().map(|item| item.body.len() + BYTES_BESIDE_BODY);
        let posts = self.posts.iter().flatten().map(|post| post.body.len());
        items.sum::<usize>() + posts.sum::<usize>()
    }
}

/// Where an object's values are.
#[derive(Clone, Copy)]
struct Source<'a> {
    object: Members<'a>,
    /// The members of the object that this one is a part of.
    outer: Option<Members<'a>>,
    /// The members of the object to whose list this one belongs.
    owner: Option<Members<'a>>,
    /// The items read with an object that was read by itself.
    point: Option<&'a PointItems<'a>>,
    /// Whether the caller likes the post.
    is_liked: bool,
    /// The whole post of a short copy, where contents are selected.
    post: Option<&'a Item>,
}

/// The members of a stored object, and the text that they are in.
#[derive(Clone, Copy)]
struct Members<'a> {
    members: &'a StoredMembers,
    body: &'a [u8],
}

impl<'a> Members<'a> {
    fn json(self, slot: MemberSlot) -> Option<&'a [u8]> {
        self.members.json(slot, self.body)
    }

    fn text(self, slot: MemberSlot) -> Option<Cow<'a, str>> {
        self.json(slot).and_then(unescaped)
    }
}

struct DataWriter<'a> {
    out: &'a mut Vec<u8>,
    request: PlanRequest<'a>,
    /// Bytes that are not yet taken from the response budget.
    bytes: usize,
}

impl DataWriter<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// A text that counts with its length, as often as it is selected.
    fn put_text(&mut self, json: &[u8], times: usize) {
        self.bytes += json.len() * times;
        self.put(json);
    }

    /// Ends an object, which begins with its first field, and counts its bytes.
    fn close<V>(&mut self, fields: &Fields<V>) {
        self.put_end(fields);
        self.bytes += fields.bytes;
    }

    fn put_end<V>(&mut self, fields: &Fields<V>) {
        self.put(if fields.fields.is_empty() { b"{}" } else { b"}" });
    }

    /// Takes the written bytes from the response budget.
    fn settle(&mut self) -> Result<(), Unplanned> {
        let bytes = std::mem::take(&mut self.bytes);
        self.request.budget.try_take(bytes).then_some(()).ok_or(Unplanned)
    }

    fn point(&mut self, point: &PointItems<'_>) -> Result<(), Unplanned> {
        let object = Members { members: &point.members, body: &point.item.body };
        let owner = point.beside.as_ref().map(|(item, members)| Members { members, body: &item.body });
        let source =
            Source { object, outer: None, owner, point: Some(point), is_liked: point.is_liked, post: None };
        self.object(&point.plan.object, source)
    }

    fn object(&mut self, plan: &Fields<ObjectValue>, source: Source<'_>) -> Result<(), Unplanned> {
        for field in &plan.fields {
            self.put(&field.before);
            self.value(&field.value, field.times, source)?;
        }
        self.close(plan);
        Ok(())
    }

    fn value(&mut self, value: &ObjectValue, times: usize, source: Source<'_>) -> Result<(), Unplanned> {
        let Source { object, outer, owner, point, is_liked, post } = source;
        let json = |slot: MemberSlot| object.json(slot).ok_or(Unplanned);
        match value {
            ObjectValue::Constant(value) => self.put(value),
            ObjectValue::Text(slot) => self.put_text(json(*slot)?, times),
            ObjectValue::OptionalText(slot) => match object.json(*slot) {
                Some(text) => self.put_text(text, times),
                None => self.null(times),
            },
            ObjectValue::DateOfId(slot) => match creation_ms(object.members.id(*slot).ok_or(Unplanned)?) {
                Some(date_ms) => {
                    self.put_text(format!("\"{}\"", format_timestamp(date_ms)).as_bytes(), times);
                }
                None => self.null(times),
            },
            ObjectValue::OuterText(slot) => {
                let text = outer.and_then(|outer| outer.json(*slot)).ok_or(Unplanned)?;
                self.put_text(text, times);
            }
            ObjectValue::Count(slot) => self.put(object.json(*slot).unwrap_or(b"0")),
            ObjectValue::TextVersion(slot) => match object.json(*slot) {
                Some(version) => self.put(version),
                None => self.put(TEXT_VERSION_FIRST.to_string().as_bytes()),
            },
            ObjectValue::Summary { content, excerpt } => match object.json(*content) {
                Some(content) => self.summary(content, times)?,
                // A short copy of an earlier version has no excerpt.
                None => self.put_text(json(*excerpt)?, times),
            },
            ObjectValue::ContentOnPage { content, excerpt } => {
                if object.json(*content).is_some() {
                    // No short copy: nothing is read for it.
                    return Err(Unplanned);
                }
                match post.map(|post| content_of(post, *content)).transpose()?.flatten() {
                    Some(content) => self.put_text(content, times),
                    // It was deleted.
                    None => self.put_text(json(*excerpt)?, times),
                }
            }
            ObjectValue::Amount(amount) => self.amount(*amount, times, source)?,
            ObjectValue::GlobalId(format) => {
                let id = global_id(*format, object.members).ok_or(Unplanned)?;
                self.out.push(b'"');
                id.encode_to(self.out);
                self.out.push(b'"');
            }
            ObjectValue::ViewerHasLiked => self.put(word(is_liked)),
            ObjectValue::ViewerRight(right) => self.put(word(self.has_right(*right, object, owner)?)),
            ObjectValue::Object(plan) => self.object(plan, source)?,
            ObjectValue::Objects(slot, shape, plan) => self.objects((*slot, shape), plan, object)?,
            ObjectValue::Beside(plan) => {
                let (item, members) = point.and_then(|point| point.beside.as_ref()).ok_or(Unplanned)?;
                let object = Members { members, body: &item.body };
                self.object(
                    plan,
                    Source { object, outer: None, owner: None, point: None, is_liked, post: None },
                )?;
            }
            ObjectValue::List(place) => {
                let point = point.ok_or(Unplanned)?;
                match (point.plan.lists.get(*place), point.pages.get(*place)) {
                    (Some(plan), Some(page)) => self.connection(plan, page, Some(object))?,
                    _ => return Err(Unplanned),
                }
            }
        }
        Ok(())
    }

    fn null(&mut self, times: usize) {
        self.put(NULL);
        self.bytes += NULL_BYTES * times;
    }

    /// The objects of a list within an object.
    fn objects(
        &mut self,
        (slot, shape): (MemberSlot, &'static StoredShape),
        plan: &Fields<ObjectValue>,
        outer: Members<'_>,
    ) -> Result<(), Unplanned> {
        let objects = outer.members.objects(slot, shape, outer.body).ok_or(Unplanned)?;
        let body = objects.body();
        self.put(b"[");
        for (place, members) in objects.enumerate() {
            if place > 0 {
                self.put(b",");
            }
            let object = Members { members: &members.ok_or(Unplanned)?, body };
            self.object(
                plan,
                Source { object, outer: Some(outer), owner: None, point: None, is_liked: false, post: None },
            )?;
        }
        self.put(b"]");
        Ok(())
    }

    /// Whether the caller has a right on an object.
    fn has_right(
        &self,
        right: ViewerRight,
        object: Members<'_>,
        owner: Option<Members<'_>>,
    ) -> Result<bool, Unplanned> {
        let is_caller = |members: Members<'_>, slot: MemberSlot, caller: Uuid| {
            members.members.id(slot).map(|id| id == caller).ok_or(Unplanned)
        };
        if self.request.is_staff
            && matches!(right, ViewerRight::UserOrStaff(_) | ViewerRight::UserOrOwner { .. })
        {
            return Ok(true);
        }
        match (right, self.request.caller) {
            (ViewerRight::User(slot) | ViewerRight::UserOrStaff(slot), PlanCaller::User(UserId(caller))) => {
                is_caller(object, slot, caller)
            }
            (ViewerRight::UserOrOwner { user, owner: slot }, PlanCaller::User(UserId(caller))) => {
                let owner = owner.ok_or(Unplanned)?;
                Ok(is_caller(object, user, caller)? || is_caller(owner, slot, caller)?)
            }
            (ViewerRight::Customer(slot), PlanCaller::Customer(CustomerId(caller))) => {
                is_caller(object, slot, caller)
            }
            (ViewerRight::CustomerUntil { customer, end }, PlanCaller::Customer(CustomerId(caller))) => {
                Ok(object.json(end).is_none() && is_caller(object, customer, caller)?)
            }
            _ => Ok(false),
        }
    }

    fn amount(&mut self, amount: AmountSource, times: usize, source: Source<'_>) -> Result<(), Unplanned> {
        let Members { members, body } = source.object;
        let integer = |slot: MemberSlot| members.integer(slot, body).ok_or(Unplanned);
        let quantity = amount.quantity.map(integer).transpose()?.unwrap_or(1);
        let minor_units = integer(amount.minor_units)?.saturating_mul(quantity);
        let currency_code = match amount.currency {
            CurrencySource::Own(slot) => source.object.text(slot),
            CurrencySource::Outer(slot) => source.outer.and_then(|outer| outer.text(slot)),
        };
        let currency_code = &currency_code.ok_or(Unplanned)?;
        let start = self.out.len();
        write!(self.out, "\"{}\"", StoredAmount { minor_units, currency_code }).map_err(|_| Unplanned)?;
        self.bytes += (self.out.len() - start) * times;
        Ok(())
    }

    fn summary(&mut self, content: &[u8], times: usize) -> Result<(), Unplanned> {
        let content: String = serde_json::from_slice(content).map_err(|_| Unplanned)?;
        let start = self.out.len();
        serde_json::to_writer(&mut *self.out, &summarise(&content)).map_err(|_| Unplanned)?;
        self.bytes += (self.out.len() - start) * times;
        Ok(())
    }

    fn connection(
        &mut self,
        plan: &ConnectionPlan,
        page: &PageItems,
        owner: Option<Members<'_>>,
    ) -> Result<(), Unplanned> {
        let list = plan.list;
        // A list without selected items has no deleted or unreadable ones, either.
        let selects_items =
            |value: &ConnectionValue| matches!(value, ConnectionValue::Nodes(_) | ConnectionValue::Edges(_));
        if !plan.fields.fields.iter().any(|field| selects_items(&field.value)) {
            page.page.items.iter().try_for_each(|item| read_item(&list.items, item).map(drop))?;
        }
        for field in &plan.fields.fields {
            self.put(&field.before);
            match &field.value {
                ConnectionValue::Constant(value) => self.put(value),
                ConnectionValue::Nodes(plan) => {
                    self.list(&list.items, page, owner, |writer, source| writer.object(plan, source))?;
                }
                ConnectionValue::Edges(plan) => {
                    self.list(&list.items, page, owner, |writer, source| {
                        writer.edge(list, page, plan, source)
                    })?;
                }
                ConnectionValue::PageInfo(plan) => self.page_info(list, plan, page)?,
            }
        }
        self.close(&plan.fields);
        Ok(())
    }

    fn list(
        &mut self,
        list: &ListItems,
        page: &PageItems,
        owner: Option<Members<'_>>,
        mut write: impl FnMut(&mut Self, Source<'_>) -> Result<(), Unplanned>,
    ) -> Result<(), Unplanned> {
        self.put(b"[");
        for (place, item) in page.page.items.iter().enumerate() {
            if place > 0 {
                self.put(b",");
            }
            let members = read_item(list, item)?;
            let object = Members { members: &members, body: &item.body };
            let is_liked = page.liked.get(place).copied().unwrap_or_default();
            let post = page.posts.get(place).and_then(Option::as_ref);
            write(self, Source { object, outer: None, owner, point: None, is_liked, post })?;
            self.settle()?;
        }
        self.put(b"]");
        Ok(())
    }

    fn edge(
        &mut self,
        list: &ListType,
        items: &PageItems,
        plan: &Fields<EdgeValue>,
        source: Source<'_>,
    ) -> Result<(), Unplanned> {
        for field in &plan.fields {
            self.put(&field.before);
            match &field.value {
                EdgeValue::Constant(value) => self.put(value),
                EdgeValue::Node(plan) => self.object(plan, source)?,
                EdgeValue::Cursor => self.cursor(list, items, source.object, field.times)?,
            }
        }
        self.close(plan);
        Ok(())
    }

    fn page_info(
        &mut self,
        list: &ListType,
        plan: &Fields<PageInfoValue>,
        items: &PageItems,
    ) -> Result<(), Unplanned> {
        for field in &plan.fields {
            self.put(&field.before);
            match &field.value {
                PageInfoValue::Constant(value) => self.put(value),
                PageInfoValue::HasNextPage => self.put(word(items.page.has_more)),
                PageInfoValue::HasPreviousPage => self.put(word(items.has_previous)),
                PageInfoValue::StartCursor => {
                    self.cursor_of(list, items, items.page.items.first(), field.times)?;
                }
                PageInfoValue::EndCursor => {
                    self.cursor_of(list, items, items.page.items.last(), field.times)?;
                }
            }
        }
        self.close(plan);
        Ok(())
    }

    fn cursor_of(
        &mut self,
        list: &ListType,
        items: &PageItems,
        item: Option<&Item>,
        times: usize,
    ) -> Result<(), Unplanned> {
        match item {
            Some(item) => {
                let members = read_item(&list.items, item)?;
                self.cursor(list, items, Members { members: &members, body: &item.body }, times)
            }
            None => {
                self.put(NULL);
                self.bytes += NULL_BYTES * times;
                Ok(())
            }
        }
    }

    fn cursor(
        &mut self,
        list: &ListType,
        items: &PageItems,
        object: Members<'_>,
        times: usize,
    ) -> Result<(), Unplanned> {
        let id = object.members.id(list.items.id).ok_or(Unplanned)?;
        let order = object.text(list.order).ok_or(Unplanned)?;
        let cursor = cursor::encode(items.list.ok_or(Unplanned)?, &order, id);
        self.put(b"\"");
        self.put(cursor.as_bytes());
        self.put(b"\"");
        self.bytes += (cursor.len() + 2) * times;
        Ok(())
    }
}

/// The content of a post; `None` for a deleted one.
fn content_of(post: &Item, content: MemberSlot) -> Result<Option<&[u8]>, Unplanned> {
    let members = POST.read(&post.body).ok_or(Unplanned)?;
    if members.flag(POST.slot("deleted")) {
        return Ok(None);
    }
    members.json(content, &post.body).map(Some).ok_or(Unplanned)
}

fn word(is_set: bool) -> &'static [u8] {
    if is_set { b"true" } else { b"false" }
}

/// The text of a JSON text.
fn unescaped(json: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(json).ok()?;
    if text.contains('\\') {
        return serde_json::from_str(text).ok().map(Cow::Owned);
    }
    text.strip_prefix('"')?.strip_suffix('"').map(Cow::Borrowed)
}

/// The members of an item of a list, in which nothing is deleted.
fn read_item(list: &ListItems, item: &Item) -> Result<StoredMembers, Unplanned> {
    let members = list.shape.read(&item.body).ok_or(Unplanned)?;
    if members.flag(list.deleted) { Err(Unplanned) } else { Ok(members) }
}

fn global_id(format: IdFormat, members: &StoredMembers) -> Option<GlobalId> {
    Some(match format {
        IdFormat::User(id) => GlobalId::User(UserId(members.id(id)?)),
        IdFormat::Post(id) => GlobalId::Post(PostId(members.id(id)?)),
        IdFormat::Comment(post, id) => {
            GlobalId::Comment(PostId(members.id(post)?), CommentId(members.id(id)?))
        }
        IdFormat::Like(post, id) => GlobalId::Like(PostId(members.id(post)?), LikeId(members.id(id)?)),
        IdFormat::Customer(id) => GlobalId::Customer(CustomerId(members.id(id)?)),
        IdFormat::SalesOrder(customer, id) => {
            GlobalId::SalesOrder(CustomerId(members.id(customer)?), SalesOrderId(members.id(id)?))
        }
        IdFormat::Product(category, id) => {
            GlobalId::Product(CategoryId(members.id(category)?), ProductId(members.id(id)?))
        }
        IdFormat::ProductCategory(id) => GlobalId::ProductCategory(CategoryId(members.id(id)?)),
        IdFormat::ProductTag(id) => GlobalId::ProductTag(TagId(members.id(id)?)),
    })
}
