//! The contents of pages: each page sends the first query of its application, by the same document, and is
//! written from the response. The application finds that response in the page and sends no query of its own.

mod blog;
mod formats;
mod markdown;
mod pictures;
mod product_pictures;
mod searches;
mod shop;
mod site_files;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tracing::warn;

use crate::graphql::GlobalId;
use crate::http::pages::{
    Content, EmbeddedResponse, PageContents, PageQueries, PageQuery, PageSubject, ShownPage, SiteFile,
    WrittenFile,
};
use onehop_runtime::clock::Clock;

/// The output of `npm run generate`: the documents of the pages by their hashes.
const DOCUMENTS: &str = include_str!("../../../web/trusted-documents.json");

/// Posts of the first page of a list, as the application asks for them.
const LIST_POSTS: u32 = 20;
/// Comments of the first page of a list, as the application asks for them.
const LIST_COMMENTS: u32 = 20;

/// The documents of the queries by the names of their operations, as urql sends them.
static QUERIES: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let documents: BTreeMap<String, String> =
        serde_json::from_str(DOCUMENTS).expect("the program was tested with its documents");
    let sent_by_urql = documents.into_values().filter(|text| text.contains("__typename"));
    sent_by_urql.filter_map(|text| Some((operation_of(&text)?.to_owned(), text))).collect()
});

/// The name of the query in a document that begins with it.
fn operation_of(document: &str) -> Option<&str> {
    let rest = document.strip_prefix("query ")?;
    rest.find(['(', ' ', '{']).map(|end| &rest[..end])
}

/// The pages of the blog and of the web store.
pub(super) struct SitePages {
    pub(super) clock: Arc<dyn Clock>,
}

#[async_trait]
impl PageContents for SitePages {
    async fn page(&self, subject: PageSubject<'_>, queries: &dyn PageQueries) -> Content<Box<ShownPage>> {
        let reader = Reader { queries };
        let page = match (subject, subject_id(subject)) {
            (PageSubject::Feed, _) => blog::feed(&reader).await,
            (PageSubject::Search(words), _) => blog::search(&reader, words).await,
            (PageSubject::ProductSearch(words), _) => shop::search(&reader, words).await,
            (PageSubject::Shop, _) => shop::catalogue(&reader, self.clock.now_ms()).await,
            (PageSubject::Post(id), Some(GlobalId::Post(_))) => blog::post(&reader, id).await,
            (PageSubject::Tag(tag), _) => blog::tagged(&reader, tag).await,
            (PageSubject::User(id), Some(GlobalId::User(_))) => blog::profile(&reader, id).await,
            (PageSubject::Product(id), Some(GlobalId::Product(..))) => shop::product(&reader, id).await,
            (PageSubject::ProductCategory(id), Some(GlobalId::ProductCategory(_))) => {
                shop::list(&reader, id, shop::ListedBy::Category).await
            }
            (PageSubject::ProductTag(id), Some(GlobalId::ProductTag(_))) => {
                shop::list(&reader, id, shop::ListedBy::Tag).await
            }
            _ => Ok(None),
        };
        content(page.map(|page| page.map(Box::new)))
    }

    async fn file(
        &self,
        file: SiteFile<'_>,
        origin: &str,
        queries: &dyn PageQueries,
    ) -> Content<WrittenFile> {
        let reader = Reader { queries };
        content(match file {
            SiteFile::Robots => Ok(Some(site_files::robots(origin))),
            SiteFile::Atom => site_files::atom(&reader, origin).await,
            SiteFile::Sitemap => site_files::sitemap_index(&reader, origin).await,
            SiteFile::PostsSitemap => site_files::posts_sitemap(&reader, origin).await,
            SiteFile::CategorySitemap(id) => match GlobalId::decode(id) {
                Ok(GlobalId::ProductCategory(_)) => site_files::category_sitemap(&reader, id, origin).await,
                _ => Ok(None),
            },
        })
    }
}

/// The id in the path of a subject, if it is one.
fn subject_id(subject: PageSubject<'_>) -> Option<GlobalId> {
    match subject {
        PageSubject::Feed
        | PageSubject::Shop
        | PageSubject::Tag(_)
        | PageSubject::Search(_)
        | PageSubject::ProductSearch(_) => None,
        PageSubject::Post(id)
        | PageSubject::User(id)
        | PageSubject::Product(id)
        | PageSubject::ProductCategory(id)
        | PageSubject::ProductTag(id) => GlobalId::decode(id).ok(),
    }
}

/// The text could not be read: a query was refused or failed.
struct Unread;

type Found<T> = Result<Option<T>, Unread>;

fn content<T>(found: Found<T>) -> Content<T> {
    match found {
        Ok(Some(shown)) => Content::Shown(shown),
        Ok(None) => Content::Nothing,
        Err(Unread) => Content::Unavailable,
    }
}

/// Asks the queries of one page.
struct Reader<'a> {
    queries: &'a dyn PageQueries,
}

#[derive(Deserialize)]
struct Response<T> {
    data: Option<T>,
    #[serde(default)]
    errors: Vec<Value>,
}

impl Reader<'_> {
    /// The data of a response, and the response for the application.
    async fn ask<T: DeserializeOwned>(
        &self,
        operation: &'static str,
        variables: Value,
    ) -> Result<(T, EmbeddedResponse), Unread> {
        let document = QUERIES.get(operation).ok_or(Unread)?;
        let query = PageQuery { document, variables };
        let response = self.queries.ask(&query).await.ok_or(Unread)?;
        let read: Result<Response<T>, _> = serde_json::from_str(&response);
        match read {
            Ok(Response { data: Some(data), errors }) if errors.is_empty() => {
                Ok((data, EmbeddedResponse { operation, variables: query.variables, response }))
            }
            Ok(_) => Err(Unread),
            Err(error) => {
                warn!(operation, %error, "the response to a page's query has another shape");
                Err(Unread)
            }
        }
    }

    /// The first posts of the feed.
    async fn feed(&self) -> Result<(blog::FeedData, EmbeddedResponse), Unread> {
        self.ask("Feed", json!({ "first": LIST_POSTS })).await
    }

    /// The categories and tags of the web store.
    async fn catalogue(&self) -> Result<(shop::CatalogueData, EmbeddedResponse), Unread> {
        self.ask("Catalogue", json!({})).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_of_a_page_has_its_document() {
        for operation in [
            "Feed",
            "TaggedPosts",
            "PostPage",
            "Profile",
            "SearchPosts",
            "Catalogue",
            "Products",
            "ProductPage",
            "SearchProducts",
        ] {
            assert!(QUERIES.contains_key(operation), "{operation}: {:?}", QUERIES.keys());
        }
    }
}
