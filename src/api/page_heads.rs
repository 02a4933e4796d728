//! HTML metadata for link previews: title and description of the page of one item, by one point read. Knows
//! no HTML.

use std::sync::Arc;

use async_trait::async_trait;
use tracing::warn;

use crate::blog::ids::{PostId, UserId};
use crate::blog::reads::{DataModel, ReadModels, Session};
use crate::graphql::{Charged, GlobalId};
use crate::http::pages::{PageHead, PageHeads, PageSubject, SubjectSummary};
use crate::webstore::ids::{CategoryId, ProductId, TagId};
use crate::webstore::reads::WebstoreReads;
use onehop_graphql_server::quota::QuotaAccount;
use onehop_store::{Fault, Ledger};

/// HTML metadata as V3 of the blog and the web store read it: one point read for each page.
pub(super) struct ModelPageHeads {
    pub(super) blog: ReadModels,
    pub(super) webstore: WebstoreReads,
}

type Head = Result<Option<PageHead>, Fault>;

#[async_trait]
impl PageHeads for ModelPageHeads {
    async fn head(&self, subject: PageSubject<'_>, account: &dyn QuotaAccount) -> SubjectSummary {
        let session = Session::new(Arc::new(Ledger::new()));
        let charged = Charged::new(account, session.ledger());
        let head = self.read(subject, &session).await;
        charged.finish();
        match head {
            Ok(Some(head)) => SubjectSummary::Head(head),
            Ok(None) => SubjectSummary::Nothing,
            Err(fault) => {
                warn!(kind = ?fault.kind, %fault, "the head of a page could not be read");
                SubjectSummary::Unavailable
            }
        }
    }
}

impl ModelPageHeads {
    async fn read(&self, subject: PageSubject<'_>, session: &Session) -> Head {
        let ledger = session.ledger();
        match (subject, GlobalId::decode(id_of(subject))) {
            (PageSubject::Post(_), Ok(GlobalId::Post(id))) => self.post(id, session).await,
            (PageSubject::User(_), Ok(GlobalId::User(id))) => self.user(id, session).await,
            (PageSubject::Product(_), Ok(GlobalId::Product(category, id))) => {
                self.product(category, id, ledger).await
            }
            (PageSubject::ProductCategory(_), Ok(GlobalId::ProductCategory(id))) => {
                self.category(id, ledger).await
            }
            (PageSubject::ProductTag(_), Ok(GlobalId::ProductTag(id))) => self.tag(id, ledger).await,
            _ => Ok(None),
        }
    }

    async fn post(&self, id: PostId, session: &Session) -> Head {
        let post = self.blog.of(DataModel::V3).post(id, session).await?;
        Ok(post.map(|post| PageHead { description: post.summary(), title: post.title }))
    }

    async fn user(&self, id: UserId, session: &Session) -> Head {
        let user = self.blog.of(DataModel::V3).user(id, session).await?;
        Ok(user.map(|user| {
            let description = format!("Posts by {}.", user.username);
            PageHead { title: user.username, description }
        }))
    }

    async fn product(&self, category: CategoryId, id: ProductId, ledger: &Ledger) -> Head {
        let product = self.webstore.product(category, id, ledger).await?;
        Ok(product.map(|product| {
            let description = product.description.unwrap_or_default();
            PageHead { title: product.name, description }
        }))
    }

    async fn category(&self, id: CategoryId, ledger: &Ledger) -> Head {
        let category = self.webstore.category(id, ledger).await?;
        Ok(category.map(|category| products_head(category.name, "in the category")))
    }

    async fn tag(&self, id: TagId, ledger: &Ledger) -> Head {
        let tag = self.webstore.tag(id, ledger).await?;
        Ok(tag.map(|tag| products_head(tag.name, "with the tag")))
    }
}

fn products_head(name: String, relation: &str) -> PageHead {
    let description = format!("Products {relation} {name}.");
    PageHead { title: name, description }
}

fn id_of(subject: PageSubject<'_>) -> &str {
    match subject {
        PageSubject::Post(id)
        | PageSubject::User(id)
        | PageSubject::Product(id)
        | PageSubject::ProductCategory(id)
        | PageSubject::ProductTag(id) => id,
    }
}
