//! The pages of the web: which paths they have, and the HTML metadata of their heads for link previews. They
//! are one file of the build, which draws them in the browser; only title and description are written here.
//! Knows no domain.

use std::sync::Arc;

use async_trait::async_trait;
use axum::{
    body::Body,
    http::{Extensions, HeaderMap, Method, Response, StatusCode, request::Parts},
};

use icu_properties::props::BidiControl;
use icu_properties::{CodePointSetData, CodePointSetDataBorrowed};

use super::static_files::{StaticFiles, not_found, only_read, written_page};
use onehop_graphql_server::quota::QuotaAccount;

/// Between these the build has the title and the description that hold for all pages.
const HEAD_BEGINS: &str = "<!-- page -->";
const HEAD_ENDS: &str = "<!-- /page -->";

/// The path of the playground.
const PLAYGROUND: &str = "/graphiql";

/// Marks, embeddings, overrides and isolates of the bidirectional algorithm (UAX 9).
const BIDIRECTIONAL: CodePointSetDataBorrowed<'static> = CodePointSetData::new::<BidiControl>();

/// The subject of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageSubject<'a> {
    /// The post with this id, as the path has it.
    Post(&'a str),
    /// The user with this id, as the path has it.
    User(&'a str),
    /// The product of the web store with this id, as the path has it.
    Product(&'a str),
    /// The category of products with this id, as the path has it.
    ProductCategory(&'a str),
    /// The tag of products with this id, as the path has it.
    ProductTag(&'a str),
}

/// The title of a page, and its description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageHead {
    pub title: String,
    pub description: String,
}

/// The summary of a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubjectSummary {
    Head(PageHead),
    /// There is no such thing, or none any more.
    Nothing,
    /// It is not known right now; the page will find out by itself.
    Unavailable,
}

/// HTML metadata of pages.
#[async_trait]
pub trait PageHeads: Send + Sync + 'static {
    /// The summary of a subject, by one point read at most, which the account is charged.
    async fn head(&self, subject: PageSubject<'_>, account: &dyn QuotaAccount) -> SubjectSummary;
}

/// Says who may have something read for a page.
pub trait PageReads: Send + Sync {
    /// The quota of the client that sends a request, open for as long as it is kept; `None` where nothing is
    /// read for them now.
    fn admit(&self, headers: &HeaderMap, extensions: &Extensions) -> Option<Box<dyn QuotaAccount>>;
}

/// Where a path leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageRoute<'a> {
    /// A page that is about nothing in particular.
    Page,
    About(PageSubject<'a>),
    Elsewhere,
}

/// Answers all paths except the API and health.
pub struct Pages {
    files: StaticFiles,
    heads: Arc<dyn PageHeads>,
}

impl Pages {
    /// The pages of a build of the web.
    pub fn new(files: StaticFiles, heads: Arc<dyn PageHeads>) -> Self {
        Self { files, heads }
    }

    /// Answers a request that no other route took.
    pub async fn respond(&self, request: &Parts, reads: &dyn PageReads) -> Response<Body> {
        let Parts { method, headers, extensions, .. } = request;
        let path = request.uri.path();
        if method != Method::GET && method != Method::HEAD {
            // A path without a page, such as an API that is switched off, is not found by any method.
            return if self.has(path, headers) { only_read() } else { not_found() };
        }
        match place(path) {
            PageRoute::Page => self.files.index(headers),
            PageRoute::About(subject) => match self.known(subject, reads.admit(headers, extensions)).await {
                SubjectSummary::Head(head) => self.page_with(&head, headers),
                SubjectSummary::Nothing => self.no_such_page(),
                SubjectSummary::Unavailable => self.files.index(headers),
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
        place(path) != PageRoute::Elsewhere || self.files.file(path, headers).is_some()
    }

    async fn known(
        &self,
        subject: PageSubject<'_>,
        account: Option<Box<dyn QuotaAccount>>,
    ) -> SubjectSummary {
        match account {
            Some(account) => self.heads.head(subject, &*account).await,
            None => SubjectSummary::Unavailable,
        }
    }

    /// The page, which says itself that there is nothing.
    fn no_such_page(&self) -> Response<Body> {
        match self.files.index_text() {
            Some(html) => {
                let mut response = written_page(html);
                *response.status_mut() = StatusCode::NOT_FOUND;
                response
            }
            None => not_found(),
        }
    }

    fn page_with(&self, head: &PageHead, headers: &HeaderMap) -> Response<Body> {
        match self.files.index_text().and_then(|html| with_head(&html, head)) {
            Some(html) => written_page(html),
            None => self.files.index(headers),
        }
    }
}

impl std::fmt::Debug for Pages {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Pages").field("files", &self.files).finish_non_exhaustive()
    }
}

/// Answers with the playground and the files of the build, and no other page.
pub(super) fn playground(files: StaticFiles, request: &Parts) -> Response<Body> {
    let Parts { method, headers, uri, .. } = request;
    let path = if uri.path() == "/" { PLAYGROUND } else { uri.path() };
    match files.file(path, headers) {
        Some(_) if method != Method::GET && method != Method::HEAD => only_read(),
        Some(file) => file,
        None => not_found(),
    }
}

fn place(path: &str) -> PageRoute<'_> {
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    match segments[..] {
        ["" | "write" | "signin" | "compare" | "operations"] => PageRoute::Page,
        ["posts", id] | ["posts", id, "edit"] if !id.is_empty() => PageRoute::About(PageSubject::Post(id)),
        ["users", id] if !id.is_empty() => PageRoute::About(PageSubject::User(id)),
        ["shop"] | ["shop", "account" | "cart" | "orders" | "signin" | "staff" | "ranking"] => {
            PageRoute::Page
        }
        ["shop", "product", id] if !id.is_empty() => PageRoute::About(PageSubject::Product(id)),
        ["shop", "category", id] if !id.is_empty() => PageRoute::About(PageSubject::ProductCategory(id)),
        ["shop", "tag", id] if !id.is_empty() => PageRoute::About(PageSubject::ProductTag(id)),
        _ => PageRoute::Elsewhere,
    }
}

/// Whether a path belongs to a file and not to a page: a client that asks for a file is not helped by a page.
fn names_a_file(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|last| last.contains('.')) || path.starts_with("/graphiql")
}

fn with_head(html: &str, head: &PageHead) -> Option<String> {
    let (before, rest) = html.split_once(HEAD_BEGINS)?;
    let (_, after) = rest.split_once(HEAD_ENDS)?;
    let title = escaped(&head.title);
    let description = escaped(&head.description);
    Some(format!(
        "{before}<title>{title} · Onehop</title>\n    \
         <meta name=\"description\" content=\"{description}\" />\n    \
         <meta property=\"og:site_name\" content=\"Onehop\" />\n    \
         <meta property=\"og:type\" content=\"article\" />\n    \
         <meta property=\"og:title\" content=\"{title}\" />\n    \
         <meta property=\"og:description\" content=\"{description}\" />{after}"
    ))
}

/// Text that means itself, in elements and in quoted attributes. Lines and other control characters become
/// spaces. Bidirectional controls are left out: a title has no element that could isolate them, and one of
/// them would reverse the following text.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            character if BIDIRECTIONAL.contains(character) => {}
            character if character.is_control() => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use axum::{
        body::to_bytes,
        http::{
            Request,
            header::{ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE},
        },
    };

    use super::*;
    use crate::http::static_files::WebFile;
    use onehop_graphql_server::quota::Unmetered;

    const INDEX: &str =
        "<head><!-- page --><title>Onehop</title><!-- /page --><script src=\"/a.js\"></script></head>";

    struct Told(SubjectSummary);

    #[async_trait]
    impl PageHeads for Told {
        async fn head(&self, _: PageSubject<'_>, _: &dyn QuotaAccount) -> SubjectSummary {
            self.0.clone()
        }
    }

    /// Whether anything is read.
    struct Reads(bool);

    impl PageReads for Reads {
        fn admit(&self, _: &HeaderMap, _: &Extensions) -> Option<Box<dyn QuotaAccount>> {
            self.0.then(|| Box::new(Unmetered) as _)
        }
    }

    async fn respond(method: Method, path: &str, known: SubjectSummary, reads: Reads) -> Response<Body> {
        let pages = Pages::new(StaticFiles::from_source(built), Arc::new(Told(known)));
        let request = Request::builder().method(method).uri(path).body(()).unwrap();
        pages.respond(&request.into_parts().0, &reads).await
    }

    fn built(path: &str) -> Option<WebFile> {
        let bytes: &'static [u8] = match path {
            "index.html" => INDEX.as_bytes(),
            "graphiql.html" => b"playground",
            "assets/a.js" => b"export {}",
            _ => return None,
        };
        Some(WebFile { bytes: Cow::Borrowed(bytes), sha256: [bytes.len() as u8; 32] })
    }

    async fn answer(path: &str, known: SubjectSummary) -> (StatusCode, HeaderMap, String) {
        let (parts, body) = respond(Method::GET, path, known, Reads(true)).await.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        (parts.status, parts.headers, String::from_utf8(body.to_vec()).unwrap())
    }

    fn about(title: &str, description: &str) -> SubjectSummary {
        SubjectSummary::Head(PageHead { title: title.to_owned(), description: description.to_owned() })
    }

    #[tokio::test]
    async fn every_page_is_the_same_file() {
        for path in
            ["/", "/write", "/signin", "/compare", "/operations", "/shop", "/shop/cart", "/shop/ranking"]
        {
            let (status, _, body) = answer(path, SubjectSummary::Nothing).await;
            assert_eq!((status, body.as_str()), (StatusCode::OK, INDEX), "{path}");
        }
    }

    #[tokio::test]
    async fn page_about_something_says_so_in_its_head() {
        let of_shop = ["/shop/product/p1", "/shop/category/c1", "/shop/tag/t1"];
        for path in ["/posts/p1", "/posts/p1/edit", "/users/u1"].into_iter().chain(of_shop) {
            let (status, headers, body) = answer(path, about("Hello", "First words.")).await;
            assert_eq!(status, StatusCode::OK, "{path}");
            assert!(body.contains("<title>Hello · Onehop</title>"), "{body}");
            assert!(body.contains("<meta property=\"og:description\" content=\"First words.\" />"), "{body}");
            assert!(
                !body.contains("<title>Onehop</title>") && body.contains("<script src=\"/a.js\">"),
                "{body}"
            );
            assert_eq!(headers[CACHE_CONTROL], "no-cache");
            assert!(headers.contains_key(CONTENT_SECURITY_POLICY));
        }
    }

    #[tokio::test]
    async fn hostile_texts_stay_texts() {
        let hostile = "</title><script>alert(1)</script>\" onload='x' &lt;\n\0<!-- /page -->";
        let (_, _, body) = answer("/posts/p1", about(hostile, hostile)).await;
        let tags = body.matches('<').count();
        let (_, _, harmless) = answer("/posts/p1", about("a", "b")).await;
        assert_eq!(tags, harmless.matches('<').count(), "{body}");
        assert_eq!(body.matches('"').count(), harmless.matches('"').count(), "{body}");
        assert!(body.contains(
            "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&#39;x&#39; &amp;lt;"
        ));
        assert!(!body.contains('\0'));
    }

    #[tokio::test]
    async fn bidirectional_controls_are_not_in_the_head() {
        let hostile = "Pay \u{202e}lave\u{2066} \u{200f}סוף\u{2069}\u{61c}";
        let (_, _, body) = answer("/posts/p1", about(hostile, hostile)).await;
        assert!(body.contains("<title>Pay lave סוף · Onehop</title>"), "{body}");
        assert!(body.contains("content=\"Pay lave סוף\""), "{body}");
        assert!(!body.contains(['\u{202e}', '\u{2066}', '\u{200f}', '\u{2069}', '\u{61c}']), "{body}");
    }

    #[tokio::test]
    async fn what_is_not_there_is_the_page_with_404() {
        let of_shop =
            ["/shop/product/gone", "/shop/tag/gone", "/shop/nowhere", "/shop/category", "/shop/tag/"];
        let of_blog = ["/posts/gone", "/users/gone", "/nowhere", "/posts", "/posts/a/b", "/posts/"];
        for path in of_blog.into_iter().chain(of_shop) {
            let (status, headers, body) = answer(path, SubjectSummary::Nothing).await;
            assert_eq!((status, body.as_str()), (StatusCode::NOT_FOUND, INDEX), "{path}");
            assert_eq!(headers[CONTENT_TYPE], "text/html; charset=utf-8");
        }
    }

    #[tokio::test]
    async fn a_file_that_is_not_there_is_no_page() {
        for path in ["/assets/gone.js", "/robots.txt", "/graphiql/x"] {
            let (status, headers, _) = answer(path, SubjectSummary::Nothing).await;
            assert_eq!(
                (status, headers[CONTENT_TYPE].to_str().unwrap()),
                (StatusCode::NOT_FOUND, "text/plain; charset=utf-8")
            );
        }
        assert_eq!(answer("/assets/a.js", SubjectSummary::Nothing).await.0, StatusCode::OK);
        assert_eq!(answer("/graphiql", SubjectSummary::Nothing).await.2, "playground");
    }

    #[tokio::test]
    async fn while_the_store_does_not_answer_the_page_is_as_it_is_built() {
        let (status, _, body) = answer("/posts/p1", SubjectSummary::Unavailable).await;
        assert_eq!((status, body.as_str()), (StatusCode::OK, INDEX));
    }

    #[tokio::test]
    async fn where_nothing_may_be_read_the_page_is_as_it_is_built() {
        for known in [about("Hello", "First words."), SubjectSummary::Nothing] {
            let response = respond(Method::GET, "/posts/p1", known, Reads(false)).await;
            assert_eq!(response.status(), StatusCode::OK);
            let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            assert_eq!(body, INDEX);
        }
    }

    #[tokio::test]
    async fn pages_are_only_read() {
        let response = respond(Method::POST, "/", SubjectSummary::Nothing, Reads(true)).await;
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(response.headers()[ALLOW], "GET, HEAD");
    }

    #[tokio::test]
    async fn a_path_without_a_page_is_not_found_by_any_method() {
        for path in ["/operations/graphql", "/nowhere", "/assets/gone.js", "/session"] {
            for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
                let response = respond(method.clone(), path, SubjectSummary::Nothing, Reads(true)).await;
                assert_eq!(response.status(), StatusCode::NOT_FOUND, "{method} {path}");
            }
        }
        for path in ["/posts/p1", "/assets/a.js", "/graphiql"] {
            let response = respond(Method::POST, path, SubjectSummary::Nothing, Reads(true)).await;
            assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}");
        }
    }
}
