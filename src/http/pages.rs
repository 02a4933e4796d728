//! The pages of the web: which paths they have, and the documents with which the server answers them. A page
//! that a search engine or a reader without scripts may see comes with its text; all other pages are one file
//! of the build, which the browser fills. Knows no domain.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::Query,
    http::{HeaderMap, Method, Response, StatusCode, Uri, header::HOST, request::Parts},
};
use serde::Deserialize;

use super::page_html::document;
use super::static_files::{StaticFiles, not_found, only_read, written_page, written_text};

pub use super::page_contents::{
    Content, EmbeddedResponse, PageContents, PageHead, PageKind, PageQueries, PageQuery, PageReads,
    PageSubject, ShownPage, SiteFile, WrittenFile,
};

/// The path of the playground.
const PLAYGROUND: &str = "/graphiql";

/// Where a path leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageRoute<'a> {
    /// A page that its application draws alone.
    Application,
    About(PageSubject<'a>),
    Site(SiteFile<'a>),
    Elsewhere,
}

/// Answers all paths except the API and health.
pub struct Pages {
    files: StaticFiles,
    contents: Arc<dyn PageContents>,
    origin: Option<String>,
}

impl Pages {
    /// The pages of a build of the web.
    pub fn new(files: StaticFiles, contents: Arc<dyn PageContents>) -> Self {
        Self { files, contents, origin: None }
    }

    /// The origin of all addresses in pages, such as `https://blog.example`. Without one it is the name in
    /// the request, over plain HTTP.
    #[must_use]
    pub fn with_origin(self, origin: Option<String>) -> Self {
        Self { origin, ..self }
    }

    /// Answers a request that no other route took.
    pub async fn respond(&self, request: &Parts, reads: &dyn PageReads) -> Response<Body> {
        let Parts { method, headers, extensions, .. } = request;
        let path = request.uri.path();
        if method != Method::GET && method != Method::HEAD {
            // A path without a page, such as an API that is switched off, is not found by any method.
            return if self.has(path, headers) { only_read() } else { not_found() };
        }
        match place(path, &words_of(&request.uri)) {
            PageRoute::Application => self.files.index(headers),
            PageRoute::About(subject) => {
                let content = match reads.admit(headers, extensions) {
                    Some(queries) => self.contents.page(subject, &*queries).await,
                    None => Content::Unavailable,
                };
                match content {
                    Content::Shown(page) => self.page_with(&page, headers),
                    Content::Nothing => self.no_such_page(),
                    Content::Unavailable => self.files.index(headers),
                }
            }
            PageRoute::Site(file) => match reads.admit(headers, extensions) {
                Some(queries) => match self.contents.file(file, &self.origin_of(headers), &*queries).await {
                    Content::Shown(file) => written_text(file, headers),
                    Content::Nothing => not_found(),
                    Content::Unavailable => unavailable(),
                },
                None => unavailable(),
            },
            PageRoute::Elsewhere => match self.files.file(path, headers) {
                Some(file) => file,
                None if names_a_file(path) => not_found(),
                None => self.no_such_page(),
            },
        }
    }

    /// Whether there is a page or a file at a path. Nothing is read for it.
    fn has(&self, path: &str, headers: &HeaderMap) -> bool {
        place(path, "") != PageRoute::Elsewhere || self.files.file(path, headers).is_some()
    }

    /// The page, which says itself that there is nothing.
    fn no_such_page(&self) -> Response<Body> {
        match self.files.index_text() {
            Some(html) => {
                let mut response = written_page(html, &HeaderMap::new());
                *response.status_mut() = StatusCode::NOT_FOUND;
                response
            }
            None => not_found(),
        }
    }

    fn page_with(&self, page: &ShownPage, headers: &HeaderMap) -> Response<Body> {
        let template = self.files.index_text();
        match template.and_then(|template| document(&template, page, &self.origin_of(headers))) {
            Some(html) => written_page(html, headers),
            None => self.files.index(headers),
        }
    }

    /// The origin of the site, for a request with these headers. The host allowlist has seen the name.
    fn origin_of(&self, headers: &HeaderMap) -> String {
        match &self.origin {
            Some(origin) => origin.clone(),
            None => {
                let host = headers.get(HOST).and_then(|host| host.to_str().ok());
                format!("http://{}", host.unwrap_or("localhost"))
            }
        }
    }
}

impl std::fmt::Debug for Pages {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Pages").field("files", &self.files).finish_non_exhaustive()
    }
}

/// Answers with the playground, the page with the items of a served model and the files of the build.
pub(super) fn playground(files: StaticFiles, request: &Parts) -> Response<Body> {
    let Parts { method, headers, uri, .. } = request;
    let path = if uri.path() == "/" { PLAYGROUND } else { uri.path() };
    match files.file(path, headers) {
        Some(_) if method != Method::GET && method != Method::HEAD => only_read(),
        Some(file) => file,
        None => not_found(),
    }
}

/// The query of the address of a search.
#[derive(Debug, Default, Deserialize)]
struct SearchQuery {
    #[serde(default)]
    q: String,
}

/// The words of a search, as the application reads them from the address of its page.
fn words_of(uri: &Uri) -> String {
    let Query(SearchQuery { q }) = Query::try_from_uri(uri).unwrap_or_default();
    q.trim().to_owned()
}

/// Where a path leads, and a search for these words.
fn place<'a>(path: &'a str, words: &'a str) -> PageRoute<'a> {
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    let (segments, id) = match segments[..] {
        [.., id] if segments.len() > 1 && id.is_empty() => return PageRoute::Elsewhere,
        [.., id] => (&segments[..], id),
        [] => return PageRoute::Elsewhere,
    };
    match segments {
        [""] => PageRoute::About(PageSubject::Feed),
        ["posts", _] => PageRoute::About(PageSubject::Post(id)),
        ["tags", _] => PageRoute::About(PageSubject::Tag(id)),
        ["users", _] => PageRoute::About(PageSubject::User(id)),
        ["shop"] => PageRoute::About(PageSubject::Shop),
        ["shop", "product", _] => PageRoute::About(PageSubject::Product(id)),
        ["shop", "category", _] => PageRoute::About(PageSubject::ProductCategory(id)),
        ["shop", "tag", _] => PageRoute::About(PageSubject::ProductTag(id)),
        ["search"] => PageRoute::About(PageSubject::Search(words)),
        ["shop", "search"] => PageRoute::About(PageSubject::ProductSearch(words)),
        ["authors" | "write" | "signin" | "settings" | "moderation" | "compare" | "operations"] => {
            PageRoute::Application
        }
        ["posts", post, "edit"] if !post.is_empty() => PageRoute::Application,
        ["shop", "account" | "cart" | "orders" | "signin" | "staff" | "ranking"] => PageRoute::Application,
        ["robots.txt"] => PageRoute::Site(SiteFile::Robots),
        ["feed.atom"] => PageRoute::Site(SiteFile::Atom),
        ["sitemap.xml"] => PageRoute::Site(SiteFile::Sitemap),
        ["sitemap", "posts.xml"] => PageRoute::Site(SiteFile::PostsSitemap),
        ["sitemap", "category", file] => match file.strip_suffix(".xml") {
            Some(id) => PageRoute::Site(SiteFile::CategorySitemap(id)),
            None => PageRoute::Elsewhere,
        },
        _ => PageRoute::Elsewhere,
    }
}

/// Whether a path belongs to a file and not to a page: a client that asks for a file is not helped by a page.
fn names_a_file(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|last| last.contains('.')) || path.starts_with("/graphiql")
}

fn unavailable() -> Response<Body> {
    let mut response = not_found();
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response
}

#[cfg(test)]
mod tests;
