//! Reading for a plan: every read that the general executor would do for the same operation, and no other.

use async_graphql::Variables;
use futures::future::try_join_all;

use super::fields;
use super::objects::ListRead;
use super::plan::{ConnectionPlan, Plan, PointPlan, RootValue};
use crate::blog::ids::{PostId, UserId};
use crate::blog::reads::{Session, StoredReads, shapes};
use crate::domain::stored_json::StoredMembers;
use crate::graphql::ids::GlobalId;
use onehop_store::{Item, QueryPage};

/// Something that a plan was not made for: the general executor answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unplanned;

/// What was read for a field at the root.
pub(super) enum RootItems<'p> {
    /// Nothing is read for it.
    Constant,
    /// There is no such object, or none any more.
    Null,
    Point(Box<PointItems<'p>>),
    List(PageItems),
}

/// An object that was read by itself, and the pages below it.
pub(super) struct PointItems<'p> {
    pub(super) plan: &'p PointPlan,
    pub(super) item: Item,
    pub(super) members: StoredMembers,
    pub(super) pages: Vec<PageItems>,
}

/// A page that was read.
pub(super) struct PageItems {
    pub(super) page: QueryPage,
    pub(super) has_previous: bool,
}

/// Reads for one request.
#[derive(Clone, Copy)]
pub(super) struct PlanReader<'a> {
    pub(super) reads: &'a StoredReads,
    pub(super) session: &'a Session,
    pub(super) variables: &'a Variables,
}

/// Whose list is read.
#[derive(Debug, Clone, Copy)]
enum ListParent {
    None,
    User(UserId),
    Post(PostId),
}

impl<'a> PlanReader<'a> {
    /// Reads what a plan asks for, in the order of its fields, where it can be at the same time.
    pub(super) async fn read<'p>(self, plan: &'p Plan) -> Result<Vec<RootItems<'p>>, Unplanned> {
        match plan.roots.fields.as_slice() {
            [only] => Ok(vec![self.root(&only.value).await?]),
            roots => try_join_all(roots.iter().map(|root| self.root(&root.value))).await,
        }
    }

    async fn root<'p>(self, root: &'p RootValue) -> Result<RootItems<'p>, Unplanned> {
        match root {
            RootValue::Constant(_) => Ok(RootItems::Constant),
            RootValue::User(id, plan) => match self.id(id.value(self.variables))? {
                GlobalId::User(id) => self.user(id, plan).await,
                _ => Err(Unplanned),
            },
            RootValue::Post(id, plan) => match self.id(id.value(self.variables))? {
                GlobalId::Post(id) => self.post(id, plan).await,
                _ => Err(Unplanned),
            },
            RootValue::Node(id, plans) => match (self.id(id.value(self.variables))?, plans) {
                (GlobalId::User(id), super::plan::NodePlans { user: Some(plan), .. }) => {
                    self.user(id, plan).await
                }
                (GlobalId::Post(id), super::plan::NodePlans { post: Some(plan), .. }) => {
                    self.post(id, plan).await
                }
                _ => Err(Unplanned),
            },
            RootValue::List(plan) => Ok(RootItems::List(self.page(plan, ListParent::None).await?)),
        }
    }

    fn id(self, id: Option<GlobalId>) -> Result<GlobalId, Unplanned> {
        id.ok_or(Unplanned)
    }

    async fn user<'p>(self, id: UserId, plan: &'p PointPlan) -> Result<RootItems<'p>, Unplanned> {
        let item = self.reads.user(id, self.session).await.map_err(|_| Unplanned)?;
        let Some(item) = item else { return Ok(RootItems::Null) };
        let members = shapes::USER.read(&item.body).ok_or(Unplanned)?;
        if members.json(fields::USERNAME, &item.body).is_none() {
            return Ok(RootItems::Null);
        }
        let pages = self.pages(plan, ListParent::User(id)).await?;
        Ok(RootItems::Point(Box::new(PointItems { plan, item, members, pages })))
    }

    async fn post<'p>(self, id: PostId, plan: &'p PointPlan) -> Result<RootItems<'p>, Unplanned> {
        let item = self.reads.post(id, self.session).await.map_err(|_| Unplanned)?;
        let Some(item) = item else { return Ok(RootItems::Null) };
        let members = shapes::POST.read(&item.body).ok_or(Unplanned)?;
        if members.flag(fields::FEED.deleted) {
            return Ok(RootItems::Null);
        }
        let pages = self.pages(plan, ListParent::Post(id)).await?;
        Ok(RootItems::Point(Box::new(PointItems { plan, item, members, pages })))
    }

    async fn pages(self, plan: &PointPlan, parent: ListParent) -> Result<Vec<PageItems>, Unplanned> {
        match plan.lists.as_slice() {
            [] => Ok(Vec::new()),
            [only] => Ok(vec![self.page(only, parent).await?]),
            lists => try_join_all(lists.iter().map(|list| self.page(list, parent))).await,
        }
    }

    async fn page(self, plan: &ConnectionPlan, parent: ListParent) -> Result<PageItems, Unplanned> {
        let request = plan.page.value(self.variables).ok_or(Unplanned)?;
        let (reads, session) = (self.reads, self.session);
        let page = match (plan.list.read, parent) {
            (ListRead::Feed, _) => reads.feed(&request, session).await,
            (ListRead::PostsOfUser, ListParent::User(user)) => {
                reads.posts_of_user(user, &request, session).await
            }
            (ListRead::Comments, ListParent::Post(post)) => reads.comments(post, &request, session).await,
            (ListRead::Likes, ListParent::Post(post)) => reads.likes(post, &request, session).await,
            _ => return Err(Unplanned),
        };
        let page = page.map_err(|_| Unplanned)?;
        Ok(PageItems { page, has_previous: request.after().is_some() })
    }
}
