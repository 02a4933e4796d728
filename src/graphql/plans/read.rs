//! Reading for a plan: every read that the general executor would do for the same operation, and no other.

use std::borrow::Cow;
use std::sync::Arc;

use futures::future::{try_join, try_join_all};
use serde_json::{Map, Value};

use super::arguments::PlannedRange;
use super::guards::{is_admitted, is_admitted_by_place, is_list_admitted};
use super::plan::{GlobalIdSource, ItemShape, KeyPart, ListPlan, Plan, PointPlan, RootValue};
use super::request::PlanRequest;
use super::schema::PlannedType;
use super::unplanned::Unplanned;
use crate::domain::stored_json::{DetachedMembers, MemberSlot, ShapeReader, StoredMembers, StoredValue};
use crate::served::{
    ItemPlace, ListPosition, ListRange, PartitionSource, ServedItem, StoredPage, partition_text,
};
use onehop_store::Item;

/// The items that one page of a list of whole items may read.
const LOADS_MAX: usize = 100;

/// The items read for a field at the root.
pub(super) enum RootItems<'p> {
    /// Nothing is read for it.
    Constant,
    /// There is no such object, or none any more, or none for the caller.
    Null,
    Point(Box<PointItems<'p>>),
    Points(Vec<Option<PointItems<'p>>>),
    List(Box<ListItems>),
}

/// An object that was read by itself, and the items read with it.
pub(super) struct PointItems<'p> {
    pub(super) plan: &'p PointPlan,
    pub(super) item: ReadItem,
    /// The item read together with it.
    pub(super) beside: Option<ReadItem>,
    pub(super) lists: Vec<ListItems>,
    /// Whether the list of `@caller(in)` has an item of the caller.
    pub(super) has_caller: bool,
}

/// An item with its members.
pub(super) struct ReadItem {
    item: Item,
    members: DetachedMembers,
}

impl ReadItem {
    pub(super) fn members(&self) -> Result<StoredMembers<'_>, Unplanned> {
        self.members.of(&self.item.body).ok_or(Unplanned)
    }

    pub(super) fn bytes(&self) -> usize {
        self.item.body.len()
    }
}

/// A page of a list that was read.
#[derive(Default)]
pub(super) struct ListItems {
    pub(super) owner: Option<ItemPlace>,
    /// In the direction of the read.
    pub(super) items: Arc<[Item]>,
    pub(super) is_backward: bool,
    /// The position of each item; empty where it follows from the item.
    pub(super) positions: Vec<ListPosition>,
    /// The positions before and behind the page, where these are not its items.
    pub(super) start: Option<ListPosition>,
    pub(super) end: Option<ListPosition>,
    pub(super) has_previous: bool,
    pub(super) has_next: bool,
    /// Whether the list of `@caller(in)` of each item has an item of the caller; empty where none has, or
    /// where it is not selected.
    pub(super) have_caller: Vec<bool>,
    /// The whole item of each entry; empty where it is not selected.
    pub(super) whole: Vec<Option<Item>>,
}

impl ListItems {
    /// The items in the order of the list.
    pub(super) fn items(&self) -> impl DoubleEndedIterator<Item = &Item> {
        (0..self.items.len()).map(|place| &self.items[self.read_at(place)])
    }

    /// The place of an item in the direction of the read.
    pub(super) fn read_at(&self, place: usize) -> usize {
        if self.is_backward { self.items.len() - 1 - place } else { place }
    }
}

/// Reads for one request.
#[derive(Clone, Copy)]
pub(super) struct PlanReader<'a>(pub(super) PlanRequest<'a>);

impl PlanReader<'_> {
    /// Does the reads of a plan, in the order of its fields, where possible at the same time.
    pub(super) async fn read<'p>(self, plan: &'p Plan) -> Result<Vec<RootItems<'p>>, Unplanned> {
        match plan.roots.fields.as_slice() {
            [only] => Ok(vec![self.root(&only.value).await?]),
            roots => try_join_all(roots.iter().map(|root| self.root(&root.value))).await,
        }
    }

    async fn root<'p>(self, root: &'p RootValue) -> Result<RootItems<'p>, Unplanned> {
        let PlanRequest { variables, schema, caller, .. } = self.0;
        match root {
            RootValue::Constant(_) => Ok(RootItems::Constant),
            RootValue::Point(ids, plan) => {
                let ids = ids.value(variables).ok_or(Unplanned)?;
                let [id] = ids.as_slice() else { return Err(Unplanned) };
                let (of, place) = schema.decode(id).ok_or(Unplanned)?;
                if of == plan.of { self.point(place, plan).await } else { Err(Unplanned) }
            }
            RootValue::Node(ids, plans) => {
                let ids = ids.value(variables).ok_or(Unplanned)?;
                let [id] = ids.as_slice() else { return Err(Unplanned) };
                let (plan, place) = self.node(id, plans)?;
                self.point(place, plan).await
            }
            RootValue::Nodes(ids, plans) => self.nodes(&ids.value(variables).ok_or(Unplanned)?, plans).await,
            RootValue::Caller(plan) => {
                let account = caller.in_model(plan.of.model).account;
                let model = &schema.model(plan.of).model;
                match account.map(|id| ItemPlace::of_id(model, plan.of.ty, &id.to_string())) {
                    Some(place) => self.point(place.ok_or(Unplanned)?, plan).await,
                    None => Ok(RootItems::Null),
                }
            }
            RootValue::List(plan) => Ok(RootItems::List(Box::new(self.list(plan, None).await?))),
        }
    }

    /// The plan and the place of the object behind an id.
    fn node<'p>(self, id: &str, plans: &'p [PointPlan]) -> Result<(&'p PointPlan, ItemPlace), Unplanned> {
        let (of, place) = self.0.schema.decode(id).ok_or(Unplanned)?;
        let plan = plans.iter().find(|plan| plan.of == of).ok_or(Unplanned)?;
        Ok((plan, place))
    }

    /// Objects by their ids: one batch for each container.
    async fn nodes<'p>(self, ids: &[String], plans: &'p [PointPlan]) -> Result<RootItems<'p>, Unplanned> {
        if ids.len() > LOADS_MAX {
            return Err(Unplanned);
        }
        let nodes: Vec<_> = ids.iter().map(|id| self.node(id, plans)).collect::<Result<_, _>>()?;
        let mut points: Vec<Option<PointItems<'p>>> = ids.iter().map(|_| None).collect();
        let mut containers: Vec<_> = nodes.iter().map(|(plan, _)| self.container(plan.of)).collect();
        containers.sort_unstable();
        containers.dedup();
        for container in containers {
            let of_container = |node: &&(&PointPlan, ItemPlace)| self.container(node.0.of) == container;
            let mut places: Vec<ItemPlace> = Vec::new();
            for (_, place) in nodes.iter().filter(of_container) {
                if !places.contains(place) {
                    places.push(place.clone());
                }
            }
            let Some((plan, _)) = nodes.iter().find(of_container) else { continue };
            let reads = self.0.reads(plan.of).ok_or(Unplanned)?;
            let items = reads.stored_items(plan.of.ty, &places, self.0.ledger).await?;
            for ((plan, place), point) in nodes.iter().zip(&mut points) {
                let at = places.iter().position(|read| read == place);
                let Some(Some(item)) = at.and_then(|at| items.get(at)) else { continue };
                let item = kept(&plan.item, item.clone())?;
                *point = item.map(|item| PointItems {
                    plan,
                    item,
                    beside: None,
                    lists: Vec::new(),
                    has_caller: false,
                });
            }
        }
        Ok(RootItems::Points(points))
    }

    fn container(self, of: PlannedType) -> &'static str {
        self.0.schema.model(of).model.ty(of.ty).container.as_str()
    }

    async fn point<'p>(self, place: ItemPlace, plan: &'p PointPlan) -> Result<RootItems<'p>, Unplanned> {
        let PlanRequest { caller, ledger, schema, .. } = self.0;
        if let Some(guard) = &plan.place_guard
            && !is_admitted_by_place(guard, caller, plan.of.model, &place)?
        {
            return Ok(RootItems::Null);
        }
        let requester = caller.in_model(plan.of.model);
        let caller_item = plan.caller_item.zip(requester.account);
        if caller_item.is_some_and(|(item, _)| item.times > 1) && !schema.rules.has_loader {
            // The general executor reads once for each time that the field is selected.
            return Err(Unplanned);
        }
        let reads = self.0.reads(plan.of).ok_or(Unplanned)?;
        let (item, beside) = match &plan.beside {
            None => (reads.stored_item(&place, ledger).await?, None),
            Some(beside) => {
                let partition = place.partition.as_str();
                let other = ItemPlace::within(beside.ty, partition, partition.to_owned());
                let items = reads.stored_items(plan.of.ty, &[place.clone(), other], ledger).await?;
                <[Option<Item>; 2]>::try_from(items).map_err(|_| Unplanned)?.into()
            }
        };
        let Some(item) = item else { return Ok(RootItems::Null) };
        let Some(item) = kept(&plan.item, item)? else { return Ok(RootItems::Null) };
        let beside = match (&plan.beside, beside) {
            (None, _) => None,
            (Some(_), None) => return Ok(RootItems::Null),
            (Some(planned), Some(beside)) => match kept(&planned.item, beside)? {
                Some(beside) => Some(beside),
                None => return Ok(RootItems::Null),
            },
        };
        if let Some(guard) = &plan.guard {
            is_admitted(guard, caller, &item.members()?)?;
        }
        let lists = self.lists(plan, (&place, &item));
        let (lists, has_caller) = match caller_item {
            None => (lists.await?, false),
            Some((caller_item, account)) => {
                let owner = match caller_item.of_beside {
                    false => place.clone(),
                    true => {
                        let ty = plan.beside.as_ref().ok_or(Unplanned)?.ty;
                        let partition = place.partition.as_str();
                        ItemPlace::within(ty, partition, partition.to_owned())
                    }
                };
                let derived = schema.model(plan.of).derived_place(caller_item.ty, &owner, account);
                let derived: Vec<ItemPlace> = derived.into_iter().collect();
                let (lists, has_caller) =
                    try_join(lists, self.are_present(plan.of, caller_item.ty, &derived)).await?;
                (lists, has_caller.first().copied().unwrap_or_default())
            }
        };
        Ok(RootItems::Point(Box::new(PointItems { plan, item, beside, lists, has_caller })))
    }

    async fn lists(
        self,
        plan: &PointPlan,
        (place, item): (&ItemPlace, &ReadItem),
    ) -> Result<Vec<ListItems>, Unplanned> {
        if plan.lists.is_empty() {
            return Ok(Vec::new());
        }
        let members = item.members()?;
        let owner = (place, &members);
        match plan.lists.as_slice() {
            [only] => Ok(vec![self.list(only, Some(owner)).await?]),
            lists => try_join_all(lists.iter().map(|list| self.list(list, Some(owner)))).await,
        }
    }

    async fn list(
        self,
        plan: &ListPlan,
        owner: Option<(&ItemPlace, &StoredMembers<'_>)>,
    ) -> Result<ListItems, Unplanned> {
        let PlanRequest { caller, ledger, variables, .. } = self.0;
        if let (Some(guard), Some((_, members))) = (&plan.owner_guard, owner) {
            is_admitted(guard, caller, members)?;
        }
        is_list_admitted(plan.guard.as_ref(), caller)?;
        let owner_place = owner.map(|(place, _)| place);
        let all = PlannedRange { items_max: plan.items_max, is_backward: false, after: None, before: None };
        let range = match &plan.range {
            None => all,
            Some(range) => {
                let cursors = plan.cursors.as_ref().map(|format| (format, owner_place));
                let sizes = (plan.items_default, plan.items_max);
                range.value(sizes, cursors, variables).ok_or(Unplanned)?
            }
        };
        let PlannedRange { items_max, is_backward, after, before } = &range;
        let (from, until) = if *is_backward { (before, after) } else { (after, before) };
        let reads = self.0.reads(plan.of).ok_or(Unplanned)?;
        let owner_item = match owner {
            Some((place, members)) => {
                let mut body = Map::new();
                for (property, slot) in &plan.owner_key {
                    body.insert((*property).to_owned(), json_of(members, *slot)?);
                }
                Some(ServedItem::whole(place.clone(), Arc::new(body)))
            }
            None => None,
        };
        let owner_item = owner_item.as_ref();
        let listed = ListRange {
            items_max: *items_max,
            is_backward: *is_backward,
            after: after.as_ref(),
            before: before.as_ref(),
        };
        let list = match plan.is_one_query && until.is_none() {
            true => {
                let page = reads.stored_page(&plan.place, owner_item, listed, ledger).await?;
                let (has_more, has_from) = (page.has_more, from.is_some());
                ListItems {
                    owner: owner_place.cloned(),
                    items: page.items,
                    is_backward: *is_backward,
                    has_previous: if *is_backward { has_more } else { has_from },
                    has_next: if *is_backward { has_from } else { has_more },
                    ..ListItems::default()
                }
            }
            false => {
                let ty = plan.of.ty;
                let page = reads.page_with_items(ty, &plan.place, owner_item, listed, ledger).await?;
                let StoredPage { items, positions, start, end, has_previous, has_next, is_too_long } = page;
                if is_too_long {
                    return Err(Unplanned);
                }
                let items = items.into_iter().map(|found| found.item).collect();
                let owner = owner_place.cloned();
                ListItems {
                    owner,
                    items,
                    positions,
                    start,
                    end,
                    has_previous,
                    has_next,
                    ..ListItems::default()
                }
            }
        };
        let (have_caller, whole) = self.beside_page(plan, &list.items).await?;
        Ok(ListItems { have_caller, whole, ..list })
    }

    /// The items that a page needs beside its own: the items of the caller, and the whole items of entries.
    async fn beside_page(
        self,
        plan: &ListPlan,
        items: &[Item],
    ) -> Result<(Vec<bool>, Vec<Option<Item>>), Unplanned> {
        let PlanRequest { caller, schema, .. } = self.0;
        let account = plan.caller_item.zip(caller.in_model(plan.of.model).account);
        if items.is_empty() || account.is_none() && plan.whole.is_none() {
            return Ok((Vec::new(), Vec::new()));
        }
        let source = plan.whole_id.as_ref().ok_or(Unplanned)?;
        let mut reader = ShapeReader::new(&plan.shape);
        let mut places = Vec::with_capacity(items.len());
        for item in items {
            let members = reader.read(&item.body).ok_or(Unplanned)?;
            places.push(self.place_of(plan.of, source, &members)?);
        }
        if schema.rules.has_loader && places.len() > LOADS_MAX {
            return Err(Unplanned);
        }
        let have_caller = async {
            let Some((item, account)) = account else { return Ok(Vec::new()) };
            let model = schema.model(plan.of);
            let derived = places.iter().map(|place| model.derived_place(item.ty, place, account));
            let derived: Vec<ItemPlace> = derived.collect::<Option<_>>().ok_or(Unplanned)?;
            self.are_present(plan.of, item.ty, &derived).await
        };
        let whole = async {
            if plan.whole.is_none() {
                return Ok(Vec::new());
            }
            let reads = self.0.reads(plan.of).ok_or(Unplanned)?;
            Ok(reads.stored_items(plan.of.ty, &places, self.0.ledger).await?)
        };
        let (have_caller, whole) = try_join(have_caller, whole).await?;
        Ok((have_caller, whole))
    }

    /// Whether the items of a type at these places are there.
    async fn are_present(
        self,
        of: PlannedType,
        ty: crate::served::TypeIndex,
        places: &[ItemPlace],
    ) -> Result<Vec<bool>, Unplanned> {
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let reads = self.0.reads(of).ok_or(Unplanned)?;
        let items = reads.stored_items(ty, places, self.0.ledger).await?;
        items.into_iter().map(|item| Ok(reads.is_present(ty, item)?)).collect()
    }

    /// The place of an item of a list.
    fn place_of(
        self,
        of: PlannedType,
        source: &GlobalIdSource,
        members: &StoredMembers<'_>,
    ) -> Result<ItemPlace, Unplanned> {
        let id = members.text(source.id).ok_or(Unplanned)?;
        let model = &self.0.schema.model(of).model;
        match model.ty(of.ty).key {
            PartitionSource::Properties(_) => {
                let partition = key_of(&source.partition, &id, members).ok_or(Unplanned)?;
                Ok(ItemPlace::within(of.ty, &partition, id.into_owned()))
            }
            _ => ItemPlace::of_id(model, of.ty, &id).ok_or(Unplanned),
        }
    }
}

/// The partition key of an object with an id.
pub(super) fn key_of<'b>(parts: &[KeyPart], id: &str, members: &StoredMembers<'b>) -> Option<Cow<'b, str>> {
    // A key of a single string property is that string, which needs no copy.
    if let [KeyPart::Member(slot)] = parts
        && let Some(text) = members.text(*slot)
    {
        return Some(text);
    }
    let value = |part: &KeyPart| match part {
        KeyPart::Id => Some(Value::from(id)),
        KeyPart::Constant(text) => Some(Value::from(*text)),
        KeyPart::Member(slot) => json_of(members, *slot).ok().filter(|value| !value.is_null()),
    };
    partition_text(&parts.iter().map(value).collect::<Option<Vec<_>>>()?).map(Cow::Owned)
}

/// A stored value; null where it is missing.
pub(super) fn json_of(members: &StoredMembers<'_>, slot: MemberSlot) -> Result<Value, Unplanned> {
    match members.value(slot) {
        None => Ok(Value::Null),
        Some(StoredValue::Flag(is_set)) => Ok(Value::from(is_set)),
        Some(
            StoredValue::Text(json)
            | StoredValue::Number(json)
            | StoredValue::List(json)
            | StoredValue::Object(json),
        ) => serde_json::from_str(json).map_err(|_| Unplanned),
    }
}

/// The item with its members, if it is of its type and not deleted.
fn kept(planned: &ItemShape, item: Item) -> Result<Option<ReadItem>, Unplanned> {
    let members = {
        let mut reader = ShapeReader::new(&planned.shape);
        let members = reader.read(&item.body).ok_or(Unplanned)?;
        planned.is_present(&members).then(|| members.detached())
    };
    Ok(members.map(|members| ReadItem { item, members }))
}
