//! Reading for a plan: every read that the general executor would do for the same operation, and no other.

use futures::future::{try_join, try_join_all};

use super::objects::{ListItems, ListRead, PointType};
use super::plan::{ConnectionPlan, Plan, PointPlan, RootValue};
use super::request::{PlanCaller, PlanRequest};
use crate::blog::ids::{PostId, UserId};
use crate::domain::cursor::{List, ListKind};
use crate::domain::page::PageRequest;
use crate::domain::stored_json::StoredMembers;
use crate::graphql::ids::GlobalId;
use crate::webstore::ids::CustomerId;
use onehop_store::{Fault, Item, QueryPage};

/// Something that a plan was not made for: the general executor answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unplanned;

impl From<Fault> for Unplanned {
    fn from(_: Fault) -> Self {
        Self
    }
}

/// The items read for a field at the root.
pub(super) enum RootItems<'p> {
    /// Nothing is read for it.
    Constant,
    /// There is no such object, or none any more, or none for the caller.
    Null,
    Point(Box<PointItems<'p>>),
    List(PageItems),
}

/// An object that was read by itself, and the items read with it.
pub(super) struct PointItems<'p> {
    pub(super) plan: &'p PointPlan,
    pub(super) item: Item,
    pub(super) members: StoredMembers,
    /// The item read together with it.
    pub(super) beside: Option<(Item, StoredMembers)>,
    pub(super) pages: Vec<PageItems>,
    /// Whether the caller likes the post.
    pub(super) is_liked: bool,
}

/// A page that was read.
pub(super) struct PageItems {
    /// The list of its cursors; `None` for a whole list, which has no cursors.
    pub(super) list: Option<List>,
    pub(super) page: QueryPage,
    pub(super) has_previous: bool,
    /// Whether the caller likes each post; empty where the caller likes no post, or it was not asked.
    pub(super) liked: Vec<bool>,
    /// The whole item of each post; empty where no contents are selected.
    pub(super) posts: Vec<Option<Item>>,
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
        let variables = self.0.variables;
        match root {
            RootValue::Constant(_) => Ok(RootItems::Constant),
            RootValue::Point(id, point, plan) => {
                let id = id.value(variables).filter(|id| (point.has_id)(*id)).ok_or(Unplanned)?;
                self.point(id, point, plan).await
            }
            RootValue::Node(id, plans) => {
                let id = id.value(variables).ok_or(Unplanned)?;
                let (point, plan) = plans.iter().find(|(point, _)| (point.has_id)(id)).ok_or(Unplanned)?;
                self.point(id, point, plan).await
            }
            RootValue::Caller(point, plan) => match self.caller_id().filter(|id| (point.has_id)(*id)) {
                Some(id) => self.point(id, point, plan).await,
                None => Ok(RootItems::Null),
            },
            RootValue::Page(plan) => Ok(RootItems::List(self.page(plan, None).await?)),
            RootValue::All(items, _) => Ok(RootItems::List(self.all(items).await?)),
        }
    }

    fn caller_id(self) -> Option<GlobalId> {
        match self.0.caller {
            PlanCaller::Anonymous => None,
            PlanCaller::User(id) => Some(GlobalId::User(id)),
            PlanCaller::Customer(id) => Some(GlobalId::Customer(id)),
        }
    }

    /// The signed-in user.
    fn viewer(self) -> Option<UserId> {
        match self.0.caller {
            PlanCaller::User(id) => Some(id),
            PlanCaller::Anonymous | PlanCaller::Customer(_) => None,
        }
    }

    /// Whether the caller may see a customer's data. The general executor finds out whether a user is
    /// staff.
    fn may_see(self, customer: CustomerId) -> Result<bool, Unplanned> {
        match self.0.caller {
            PlanCaller::Anonymous => Ok(false),
            PlanCaller::User(_) => Err(Unplanned),
            PlanCaller::Customer(id) => Ok(id == customer),
        }
    }

    async fn point<'p>(
        self,
        id: GlobalId,
        point: &PointType,
        plan: &'p PointPlan,
    ) -> Result<RootItems<'p>, Unplanned> {
        let liked_by = self.viewer().filter(|_| plan.likes_asked > 0);
        if liked_by.is_some() && plan.likes_asked > 1 {
            // The general executor reads once for each time that the field is selected.
            return Err(Unplanned);
        }
        let (Some(item), other) = self.item(id).await? else { return Ok(RootItems::Null) };
        let Some(members) = present(point, &item)? else { return Ok(RootItems::Null) };
        let beside = match (point.beside, other) {
            (None, _) => None,
            (Some(_), None) => return Ok(RootItems::Null),
            (Some(point), Some(item)) => match present(point, &item)? {
                Some(members) => Some((item, members)),
                None => return Ok(RootItems::Null),
            },
        };
        let (pages, is_liked) = match liked_by {
            None => (self.pages(plan, id).await?, false),
            Some(_) => {
                let posts = [post_of(id).ok_or(Unplanned)?];
                let (pages, liked) = try_join(self.pages(plan, id), self.liked_of(&posts, liked_by)).await?;
                (pages, liked.first().copied().unwrap_or_default())
            }
        };
        Ok(RootItems::Point(Box::new(PointItems { plan, item, members, beside, pages, is_liked })))
    }

    /// The item behind an id, and the item that is read together with it.
    async fn item(self, id: GlobalId) -> Result<(Option<Item>, Option<Item>), Unplanned> {
        let PlanRequest { blog, webstore, session, .. } = self.0;
        let ledger = session.ledger();
        let item = match id {
            GlobalId::User(id) => blog.user(id, session).await?,
            GlobalId::Post(id) => blog.post(id, session).await?,
            GlobalId::Comment(post, id) => return Ok(blog.comment(post, id, session).await?),
            GlobalId::Like(post, id) => return Ok(blog.like(post, id, session).await?),
            GlobalId::Product(category, id) => webstore.product(category, id, ledger).await?,
            GlobalId::ProductCategory(id) => webstore.category(id, ledger).await?,
            GlobalId::ProductTag(id) => webstore.tag(id, ledger).await?,
            GlobalId::Customer(id) if self.may_see(id)? => webstore.customer(id, ledger).await?,
            GlobalId::SalesOrder(customer, id) if self.may_see(customer)? => {
                webstore.sales_order(customer, id, ledger).await?
            }
            GlobalId::Customer(_) | GlobalId::SalesOrder(..) => None,
        };
        Ok((item, None))
    }

    async fn pages(self, plan: &PointPlan, parent: GlobalId) -> Result<Vec<PageItems>, Unplanned> {
        match plan.lists.as_slice() {
            [] => Ok(Vec::new()),
            [only] => Ok(vec![self.page(only, Some(parent)).await?]),
            lists => try_join_all(lists.iter().map(|list| self.page(list, Some(parent)))).await,
        }
    }

    async fn page(self, plan: &ConnectionPlan, parent: Option<GlobalId>) -> Result<PageItems, Unplanned> {
        let list = list_of(plan.list.cursor, parent)?;
        let request = plan.page.value(list, self.0.variables).ok_or(Unplanned)?;
        let items = &plan.list.items;
        let page = self.query(items.read, parent, &request).await?;
        let liked_by = self.viewer().filter(|_| plan.asks_likes);
        let (liked, posts) = match liked_by.is_some() || plan.asks_contents {
            true if !page.items.is_empty() => {
                let ids = posts_of(items, &page)?;
                try_join(self.liked_of(&ids, liked_by), self.posts_of(&ids, plan.asks_contents)).await?
            }
            _ => (Vec::new(), Vec::new()),
        };
        Ok(PageItems { list: Some(list), page, has_previous: request.after().is_some(), liked, posts })
    }

    async fn liked_of(self, posts: &[PostId], viewer: Option<UserId>) -> Result<Vec<bool>, Unplanned> {
        match viewer {
            Some(viewer) => Ok(self.0.blog.liked(posts, viewer, self.0.session).await?),
            None => Ok(Vec::new()),
        }
    }

    async fn posts_of(self, posts: &[PostId], is_asked: bool) -> Result<Vec<Option<Item>>, Unplanned> {
        match is_asked {
            true => Ok(self.0.blog.posts(posts, self.0.session).await?),
            false => Ok(Vec::new()),
        }
    }

    async fn query(
        self,
        read: ListRead,
        parent: Option<GlobalId>,
        page: &PageRequest,
    ) -> Result<QueryPage, Unplanned> {
        let PlanRequest { blog, webstore, session, .. } = self.0;
        let ledger = session.ledger();
        Ok(match (read, parent) {
            (ListRead::Feed, None) => blog.feed(page, session).await?,
            (ListRead::PostsOfUser, Some(GlobalId::User(user))) => {
                blog.posts_of_user(user, page, session).await?
            }
            (ListRead::Comments, Some(GlobalId::Post(post))) => blog.comments(post, page, session).await?,
            (ListRead::Likes, Some(GlobalId::Post(post))) => blog.likes(post, page, session).await?,
            (ListRead::ProductsOfCategory, Some(GlobalId::ProductCategory(category))) => {
                webstore.products_of_category(category, page, ledger).await?
            }
            (ListRead::ProductsOfTag, Some(GlobalId::ProductTag(tag))) => {
                webstore.products_of_tag(tag, page, ledger).await?
            }
            (ListRead::SalesOrders, Some(GlobalId::Customer(customer))) => {
                webstore.sales_orders(customer, page, ledger).await?
            }
            _ => return Err(Unplanned),
        })
    }

    async fn all(self, items: &ListItems) -> Result<PageItems, Unplanned> {
        let PlanRequest { webstore, session, .. } = self.0;
        let page = match items.read {
            ListRead::Categories => webstore.categories(session.ledger()).await?,
            ListRead::Tags => webstore.tags(session.ledger()).await?,
            _ => return Err(Unplanned),
        };
        Ok(PageItems { list: None, page, has_previous: false, liked: Vec::new(), posts: Vec::new() })
    }
}

/// The members of an item that is such an object.
fn present(point: &PointType, item: &Item) -> Result<Option<StoredMembers>, Unplanned> {
    let members = point.shape.read(&item.body).ok_or(Unplanned)?;
    Ok(point.presence.of(&members, &item.body).then_some(members))
}

/// The list of this kind below an object; the only one of its kind at the root.
fn list_of(kind: ListKind, parent: Option<GlobalId>) -> Result<List, Unplanned> {
    Ok(match parent {
        None => kind.single(),
        Some(GlobalId::User(id)) => kind.of(id.0),
        Some(GlobalId::Post(id)) => kind.of(id.0),
        Some(GlobalId::Customer(id)) => kind.of(id.0),
        Some(GlobalId::ProductCategory(id)) => kind.of(id.0),
        Some(GlobalId::ProductTag(id)) => kind.of(id.0),
        Some(
            GlobalId::Comment(..) | GlobalId::Like(..) | GlobalId::SalesOrder(..) | GlobalId::Product(..),
        ) => return Err(Unplanned),
    })
}

/// The post in whose logical partition something is.
fn post_of(id: GlobalId) -> Option<PostId> {
    match id {
        GlobalId::Post(post) | GlobalId::Comment(post, _) | GlobalId::Like(post, _) => Some(post),
        _ => None,
    }
}

fn posts_of(items: &ListItems, page: &QueryPage) -> Result<Vec<PostId>, Unplanned> {
    let id = |item: &Item| items.shape.read(&item.body)?.id(items.id).map(PostId);
    page.items.iter().map(|item| id(item).ok_or(Unplanned)).collect()
}
