use std::borrow::Cow;

use async_trait::async_trait;
use axum::body::to_bytes;
use axum::http::header::{
    ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
};
use axum::http::{Extensions, Request};
use serde_json::json;

use super::*;
use crate::http::static_files::WebFile;

const INDEX: &str = "<head><!-- page --><title>Onehop</title><!-- /page --><!-- reading-font /f.woff2 -->\
     <script src=\"/a.js\"></script></head>\
     <body><a href=\"/\">Blog</a><!-- content --><main>Wait</main><!-- /content --><!-- data --></body>";

/// Everything has this content.
#[derive(Clone)]
struct Same(Content<Box<ShownPage>>);

#[async_trait]
impl PageContents for Same {
    async fn page(&self, _: PageSubject<'_>, _: &dyn PageQueries) -> Content<Box<ShownPage>> {
        self.0.clone()
    }

    async fn file(&self, file: SiteFile<'_>, origin: &str, _: &dyn PageQueries) -> Content<WrittenFile> {
        match self.0 {
            Content::Shown(_) => Content::Shown(WrittenFile {
                media_type: "text/plain",
                text: format!("{file:?} of {origin}"),
            }),
            Content::Nothing => Content::Nothing,
            Content::Unavailable => Content::Unavailable,
        }
    }
}

/// Whether anything is read.
struct Reads(bool);

struct NoQueries;

#[async_trait]
impl PageQueries for NoQueries {
    async fn ask(&self, _: &PageQuery) -> Option<String> {
        None
    }
}

impl PageReads for Reads {
    fn admit(&self, _: &HeaderMap, _: &Extensions) -> Option<Box<dyn PageQueries>> {
        self.0.then(|| Box::new(NoQueries) as _)
    }
}

async fn respond(request: Request<()>, content: Content<Box<ShownPage>>, reads: Reads) -> Response<Body> {
    let pages = Pages::new(StaticFiles::from_source(built), Arc::new(Same(content)));
    pages.respond(&request.into_parts().0, &reads).await
}

fn get(path: &str) -> Request<()> {
    Request::get(path).header(HOST, "blog.example").body(()).unwrap()
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

async fn text(response: Response<Body>) -> (StatusCode, HeaderMap, String) {
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    (parts.status, parts.headers, String::from_utf8(body.to_vec()).unwrap())
}

async fn answer(path: &str, content: Content<Box<ShownPage>>) -> (StatusCode, HeaderMap, String) {
    text(respond(get(path), content, Reads(true)).await).await
}

fn page(title: &str, description: &str) -> ShownPage {
    ShownPage {
        head: PageHead {
            title: title.to_owned(),
            description: description.to_owned(),
            kind: PageKind::Article,
            path: "/posts/p1".to_owned(),
            place: "/",
            image: Some("/picture.png".to_owned()),
            properties: vec![("article:author", "Ada".to_owned())],
            linked_data: Some(json!({ "url": "/posts/p1", "name": title, "author": { "url": "/users/u1" } })),
            has_reading_font: true,
        },
        html: "<main>Text</main>".to_owned(),
        embedded: vec![EmbeddedResponse {
            operation: "PostPage",
            variables: json!({ "id": "p1" }),
            response: json!({ "data": { "title": title } }).to_string(),
        }],
    }
}

fn about(title: &str, description: &str) -> Content<Box<ShownPage>> {
    Content::Shown(Box::new(page(title, description)))
}

const PAGES_WITH_TEXT: [&str; 9] = [
    "/",
    "/posts/p1",
    "/users/u1",
    "/search?q=hello",
    "/shop",
    "/shop/product/p1",
    "/shop/category/c1",
    "/shop/tag/t1",
    "/shop/search",
];
const PAGES_OF_THE_APPLICATION: [&str; 10] = [
    "/write",
    "/settings",
    "/moderation",
    "/signin",
    "/compare",
    "/operations",
    "/shop/cart",
    "/shop/ranking",
    "/posts/p1/edit",
    "/shop/staff",
];

#[tokio::test]
async fn pages_without_text_are_the_same_file() {
    for path in PAGES_OF_THE_APPLICATION {
        let (status, _, body) = answer(path, about("Hello", "First words.")).await;
        assert_eq!((status, body.as_str()), (StatusCode::OK, INDEX), "{path}");
    }
}

#[tokio::test]
async fn a_page_comes_with_text_metadata_and_data() {
    for path in PAGES_WITH_TEXT {
        let (status, headers, body) = answer(path, about("Hello", "First words.")).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        for part in [
            "<title>Hello · Onehop</title>",
            "<meta property=\"og:description\" content=\"First words.\" />",
            "<link rel=\"canonical\" href=\"http://blog.example/posts/p1\" />",
            "<meta property=\"og:url\" content=\"http://blog.example/posts/p1\" />",
            "<meta property=\"og:image\" content=\"http://blog.example/picture.png\" />",
            "<meta property=\"article:author\" content=\"Ada\" />",
            "\"author\":{\"url\":\"http://blog.example/users/u1\"}",
            "<body><a href=\"/\" aria-current=\"true\">Blog</a><main>Text</main>",
            "<script type=\"application/json\" id=\"embedded\">[{\"operation\":\"PostPage\",\
             \"variables\":{\"id\":\"p1\"},\"response\":{\"data\":{\"title\":\"Hello\"}}}]</script>",
            "<script src=\"/a.js\">",
            "<link rel=\"preload\" as=\"font\" type=\"font/woff2\" crossorigin=\"\" href=\"/f.woff2\" />",
        ] {
            assert!(body.contains(part), "{path} without {part}: {body}");
        }
        assert!(!body.contains("<title>Onehop</title>") && !body.contains("Wait"), "{body}");
        assert_eq!(headers[CACHE_CONTROL], "no-cache");
        assert!(headers.contains_key(CONTENT_SECURITY_POLICY));
    }
}

#[test]
fn the_words_of_a_search_are_those_of_the_application() {
    for (address, words) in [
        ("/search?q=two+words", "two words"),
        ("/search?q=%20caf%C3%A9%20&from=menu", "café"),
        ("/search?q=", ""),
        ("/search", ""),
        ("/search?p=x", ""),
        // The application takes one of them, and asks by itself.
        ("/search?q=a&q=b", ""),
    ] {
        assert_eq!(words_of(&address.parse().unwrap()), words, "{address}");
    }
    assert_eq!(place("/search", "a"), PageRoute::About(PageSubject::Search("a")));
    assert_eq!(place("/shop/search", ""), PageRoute::About(PageSubject::ProductSearch("")));
    assert_eq!(place("/search/a", "a"), PageRoute::Elsewhere);
}

#[test]
fn a_page_of_the_shop_searches_products() {
    const LINKS: &str = "<a href=\"/shop\">Shop</a><a href=\"/search\"\n>Search</a>";
    for (place, path, links) in [
        (
            "/shop",
            "/shop",
            "<a href=\"/shop\" aria-current=\"page\">Shop</a><a href=\"/shop/search\"\n>Search</a>",
        ),
        (
            "/shop/search",
            "/shop/search?q=bell",
            "<a href=\"/shop\">Shop</a><a href=\"/shop/search\" aria-current=\"page\"\n>Search</a>",
        ),
        (
            "/search",
            "/search",
            "<a href=\"/shop\">Shop</a><a href=\"/search\" aria-current=\"page\"\n>Search</a>",
        ),
    ] {
        let mut shown = page("Bells", "");
        shown.head = PageHead { place, path: path.to_owned(), ..shown.head };
        let template = INDEX.replace("<a href=\"/\">Blog</a>", LINKS);
        let html = document(&template, &shown, "http://blog.example").unwrap();
        assert!(html.contains(links), "{place}: {html}");
    }
}

#[test]
fn the_way_to_sign_in_leads_back_to_the_page() {
    const LINK: &str = "<a class=\"button\" href=\"/signin\">Sign in</a>";
    for (place, path, address) in [
        ("/", "/", "/signin"),
        ("/", "/posts/p1", "/signin?next=%2Fposts%2Fp1"),
        ("/search", "/search?q=two%20words", "/signin?next=%2Fsearch%3Fq%3Dtwo%2520words"),
        ("/shop", "/shop", "/shop/signin?next=%2Fshop"),
        ("/shop", "/shop/product/\"p1", "/shop/signin?next=%2Fshop%2Fproduct%2F%22p1"),
    ] {
        let mut shown = page("Bells", "");
        shown.head = PageHead { place, path: path.to_owned(), ..shown.head };
        let template = INDEX.replace("<a href=\"/\">Blog</a>", LINK);
        let html = document(&template, &shown, "http://blog.example").unwrap();
        assert!(
            html.contains(&format!("<a class=\"button\" href=\"{address}\">Sign in</a>")),
            "{path}: {html}"
        );
    }
}

#[tokio::test]
async fn the_reading_font_is_preloaded_only_where_it_shows() {
    let mut product = page("Bell", "Rings.");
    product.head.has_reading_font = false;
    let (_, _, body) = answer("/shop/product/p1", Content::Shown(Box::new(product))).await;
    assert!(!body.contains("rel=\"preload\""), "{body}");
}

#[tokio::test]
async fn the_public_origin_is_in_all_addresses() {
    let contents = Arc::new(Same(about("Hello", "First words.")));
    let pages = Pages::new(StaticFiles::from_source(built), contents)
        .with_origin(Some("https://public.example".to_owned()));
    let (_, _, body) = text(pages.respond(&get("/posts/p1").into_parts().0, &Reads(true)).await).await;
    assert!(body.contains("href=\"https://public.example/posts/p1\""), "{body}");
    assert!(!body.contains("blog.example"), "{body}");
}

#[tokio::test]
async fn hostile_texts_stay_texts() {
    let hostile =
        "</title></script><script>alert(1)</script>\" onload='x' &lt;\n\0<!-- /page --><!-- data -->";
    let (_, _, body) = answer("/posts/p1", about(hostile, hostile)).await;
    let tags = body.matches('<').count();
    let (_, _, harmless) = answer("/posts/p1", about("a", "b")).await;
    assert_eq!(tags, harmless.matches('<').count(), "{body}");
    assert!(body.contains(
        "&lt;/title&gt;&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&#39;x&#39;"
    ));
    assert!(body.contains("\"title\":\"\\u003c/title>\\u003c/script>"), "{body}");
    assert!(!body.contains('\0'));
}

#[tokio::test]
async fn bidirectional_controls_are_not_in_the_head() {
    let hostile = "Pay \u{202e}lave\u{2066} \u{200f}סוף\u{2069}\u{61c}";
    let mut page = page(hostile, hostile);
    (page.head.linked_data, page.embedded) = (None, Vec::new());
    let (_, _, body) = answer("/posts/p1", Content::Shown(Box::new(page))).await;
    assert!(body.contains("<title>Pay lave סוף · Onehop</title>"), "{body}");
    assert!(body.contains("content=\"Pay lave סוף\""), "{body}");
    assert!(!body.contains(['\u{202e}', '\u{2066}', '\u{200f}', '\u{2069}', '\u{61c}']), "{body}");
}

#[tokio::test]
async fn what_is_not_there_is_the_page_with_404() {
    let of_shop = ["/shop/product/gone", "/shop/tag/gone", "/shop/nowhere", "/shop/category", "/shop/tag/"];
    let of_blog = ["/posts/gone", "/users/gone", "/nowhere", "/posts", "/posts/a/b", "/posts/"];
    for path in of_blog.into_iter().chain(of_shop) {
        let (status, headers, body) = answer(path, Content::Nothing).await;
        assert_eq!((status, body.as_str()), (StatusCode::NOT_FOUND, INDEX), "{path}");
        assert_eq!(headers[CONTENT_TYPE], "text/html; charset=utf-8");
    }
}

#[tokio::test]
async fn files_of_the_site_name_its_origin() {
    for (path, file) in [
        ("/robots.txt", "Robots"),
        ("/feed.atom", "Atom"),
        ("/sitemap.xml", "Sitemap"),
        ("/sitemap/posts.xml", "PostsSitemap"),
        ("/sitemap/category/c1.xml", "CategorySitemap(\"c1\")"),
    ] {
        let (status, _, body) = answer(path, about("", "")).await;
        assert_eq!((status, body), (StatusCode::OK, format!("{file} of http://blog.example")), "{path}");
        assert_eq!(answer(path, Content::Nothing).await.0, StatusCode::NOT_FOUND);
        assert_eq!(answer(path, Content::Unavailable).await.0, StatusCode::SERVICE_UNAVAILABLE);
    }
}

#[tokio::test]
async fn a_file_that_is_not_there_is_no_page() {
    for path in ["/assets/gone.js", "/ads.txt", "/graphiql/x"] {
        let (status, headers, _) = answer(path, Content::Nothing).await;
        assert_eq!(
            (status, headers[CONTENT_TYPE].to_str().unwrap()),
            (StatusCode::NOT_FOUND, "text/plain; charset=utf-8")
        );
    }
    assert_eq!(answer("/assets/a.js", Content::Nothing).await.0, StatusCode::OK);
    assert_eq!(answer("/graphiql", Content::Nothing).await.2, "playground");
}

#[tokio::test]
async fn while_the_store_does_not_answer_the_page_is_as_it_is_built() {
    let (status, _, body) = answer("/posts/p1", Content::Unavailable).await;
    assert_eq!((status, body.as_str()), (StatusCode::OK, INDEX));
}

#[tokio::test]
async fn without_reads_the_page_is_as_it_is_built() {
    let response = respond(get("/posts/p1"), about("Hello", "Words."), Reads(false)).await;
    let (status, _, body) = text(response).await;
    assert_eq!((status, body.as_str()), (StatusCode::OK, INDEX));
}

#[tokio::test]
async fn long_pages_are_compressed() {
    let mut long = page("Hello", "Words.");
    long.html = "long ".repeat(1000);
    let request = Request::get("/posts/p1").header(ACCEPT_ENCODING, "br, gzip").body(()).unwrap();
    let response = respond(request, Content::Shown(Box::new(long)), Reads(true)).await;
    assert_eq!(response.headers()[CONTENT_ENCODING], "gzip");
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    assert!(body.len() < 2000, "{}", body.len());
}

#[tokio::test]
async fn pages_are_only_read() {
    let post = Request::post("/").body(()).unwrap();
    let response = respond(post, Content::Nothing, Reads(true)).await;
    assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(response.headers()[ALLOW], "GET, HEAD");
}

#[tokio::test]
async fn a_path_without_a_page_is_not_found_by_any_method() {
    for path in ["/operations/graphql", "/nowhere", "/assets/gone.js", "/session"] {
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
            let request = Request::builder().method(method.clone()).uri(path).body(()).unwrap();
            let response = respond(request, Content::Nothing, Reads(true)).await;
            assert_eq!(response.status(), StatusCode::NOT_FOUND, "{method} {path}");
        }
    }
    for path in ["/posts/p1", "/assets/a.js", "/graphiql", "/robots.txt"] {
        let response = respond(Request::post(path).body(()).unwrap(), Content::Nothing, Reads(true)).await;
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}");
    }
}
