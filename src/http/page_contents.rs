//! The contents of pages, as values, and the ports by which pages get them: queries and the right to send
//! them. Knows no HTML and no domain.

use async_trait::async_trait;
use axum::http::{Extensions, HeaderMap};
use serde_json::Value;

/// A page with a text, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageSubject<'a> {
    /// The newest posts.
    Feed,
    /// The post with this id, as the path has it.
    Post(&'a str),
    /// The posts with this tag, as the path has it.
    Tag(&'a str),
    /// The user with this id, as the path has it.
    User(&'a str),
    /// The posts with these words in the title; none where nothing was typed.
    Search(&'a str),
    /// The categories and tags of the web store.
    Shop,
    /// The product of the web store with this id, as the path has it.
    Product(&'a str),
    /// The category of products with this id, as the path has it.
    ProductCategory(&'a str),
    /// The tag of products with this id, as the path has it.
    ProductTag(&'a str),
    /// The products with these words in the name; none where nothing was typed.
    ProductSearch(&'a str),
}

/// A file for programs that read the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SiteFile<'a> {
    /// The rules for crawlers (RFC 9309).
    Robots,
    /// The newest posts as a feed (RFC 4287).
    Atom,
    /// The index of the sitemaps.
    Sitemap,
    /// The sitemap of the posts.
    PostsSitemap,
    /// The sitemap of the products of the category with this id, as the path has it.
    CategorySitemap(&'a str),
}

/// The kind of a page for programs that preview links (Open Graph).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageKind {
    Website,
    Article,
    Profile,
    Product,
}

impl PageKind {
    /// The value of `og:type`.
    pub(super) fn open_graph_type(self) -> &'static str {
        match self {
            Self::Website => "website",
            Self::Article => "article",
            Self::Profile => "profile",
            Self::Product => "product",
        }
    }
}

/// The metadata of a page.
#[derive(Debug, Clone, PartialEq)]
pub struct PageHead {
    pub title: String,
    pub description: String,
    pub kind: PageKind,
    /// The canonical path, with the query of the address where the page depends on it.
    pub path: String,
    /// The path of the place in the main navigation to which the page belongs.
    pub place: &'static str,
    /// The path of a picture, for link previews.
    pub image: Option<String>,
    /// Further properties of Open Graph.
    pub properties: Vec<(&'static str, String)>,
    /// Linked data (JSON-LD). Its paths become addresses.
    pub linked_data: Option<Value>,
    /// Whether the page shows the font of texts above the fold.
    pub has_reading_font: bool,
}

/// A response that the application finds in the page, and does not ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddedResponse {
    /// The name of the query.
    pub operation: &'static str,
    pub variables: Value,
    /// The response, in JSON.
    pub response: String,
}

/// A page with its text.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownPage {
    pub head: PageHead,
    /// The element `main`.
    pub html: String,
    pub embedded: Vec<EmbeddedResponse>,
}

/// The text of a page or of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content<T> {
    Shown(T),
    /// There is no such thing, or none any more.
    Nothing,
    /// It is not known right now; the page will find out by itself.
    Unavailable,
}

/// A file that was written for this answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFile {
    pub media_type: &'static str,
    pub text: String,
}

/// A query of a page: the query that its application sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageQuery {
    /// The text of the document.
    pub document: &'static str,
    pub variables: Value,
}

/// Answers the queries of a page, within the limits of the client.
#[async_trait]
pub trait PageQueries: Send + Sync {
    /// The response for an anonymous reader, in JSON; `None` where the query is refused.
    async fn ask(&self, query: &PageQuery) -> Option<String>;
}

/// The contents of pages.
#[async_trait]
pub trait PageContents: Send + Sync + 'static {
    /// A page, with the answers to its queries.
    async fn page(&self, subject: PageSubject<'_>, queries: &dyn PageQueries) -> Content<Box<ShownPage>>;

    /// A file of the site at this origin.
    async fn file(&self, file: SiteFile<'_>, origin: &str, queries: &dyn PageQueries)
    -> Content<WrittenFile>;
}

/// Says who may have something read for a page.
pub trait PageReads: Send + Sync {
    /// The queries of the client that sends a request; `None` where nothing is read for them now.
    fn admit(&self, headers: &HeaderMap, extensions: &Extensions) -> Option<Box<dyn PageQueries>>;
}
