//! The web build, embedded in the binary: pages, GraphiQL and their assets. Knows files, how they are
//! compressed and how they are cached; which paths are pages is for [`pages`](super::pages).

use std::borrow::Cow;

use axum::{
    body::Body,
    http::{
        HeaderMap, HeaderValue, Response, StatusCode,
        header::{
            ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
            IF_NONE_MATCH, VARY,
        },
    },
};
pub use onehop_pages::WebFile;
use onehop_pages::web_file;

use super::page_contents::WrittenFile;
use onehop_graphql_server::content_coding::{COMPRESS_BYTES_MIN, accepts, gzip};

/// Names in `/assets/` carry a hash of their content, so a browser never asks for one twice.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// Everything else is asked for again with its ETag.
const REVALIDATED: &str = "no-cache";

/// A page runs the scripts of the build and talks to its own server, and makes no script out of text.
const PAGE_SECURITY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
     trusted-types 'none'",
);

/// The playground's editor sets inline styles, has fonts and images in `data:`, starts workers, and shows
/// descriptions as HTML.
const PLAYGROUND_SECURITY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'",
);

const HOW_TO_BUILD: &str = "The pages are not part of this build.\n\
    Build them with `make web`, then build a release binary again or reload a debug binary's page.\n\
    The API is at /graphql.\n";

/// Encodings in which the build has its files beside them, best first: the name and the ending.
const ENCODINGS: [(&str, &str); 2] = [("br", ".br"), ("gzip", ".gz")];

/// The build's name for the page of all paths but the playground's.
const INDEX: &str = "index.html";

/// The build's name for the playground.
const PLAYGROUND: &str = "graphiql.html";

/// The build's name for the page with the items of a served model.
const BROWSER: &str = "browse.html";

/// Serves the files of the web build.
#[derive(Debug, Clone, Copy)]
pub struct StaticFiles {
    find: fn(&str) -> Option<WebFile>,
    playground: bool,
    browser: bool,
}

impl StaticFiles {
    /// The files embedded when the binary was built; a debug build reads the present `web/dist`.
    pub fn embedded() -> Self {
        Self::from_source(web_file)
    }

    /// Files found otherwise.
    pub fn from_source(find: fn(&str) -> Option<WebFile>) -> Self {
        Self { find, playground: true, browser: false }
    }

    /// Whether there is a playground. Without a playground its page is not found; files shared with other
    /// pages are.
    pub fn with_playground(self, playground: bool) -> Self {
        Self { playground, ..self }
    }

    /// Whether there is the page with the items of a served model. It holds no data itself.
    pub fn with_browser(self, browser: bool) -> Self {
        Self { browser, ..self }
    }

    /// The file at a path; `None` for missing and hidden files.
    pub(super) fn file(&self, path: &str, headers: &HeaderMap) -> Option<Response<Body>> {
        let path = path.trim_start_matches('/');
        let name = match path {
            "graphiql" | "graphiql/" => PLAYGROUND,
            "browse" | "browse/" => BROWSER,
            path => path,
        };
        let is_shown = match name {
            PLAYGROUND => self.playground,
            BROWSER => self.browser,
            _ => true,
        };
        is_shown.then(|| self.serve(name, headers)).flatten()
    }

    /// The page of all paths but the playground's, as the build has it.
    pub(super) fn index(&self, headers: &HeaderMap) -> Response<Body> {
        self.serve(INDEX, headers).unwrap_or_else(|| text(StatusCode::OK, HOW_TO_BUILD))
    }

    /// Whether the pages were built before the binary, or, for a debug build, before it runs.
    pub fn has_pages(&self) -> bool {
        (self.find)(INDEX).is_some()
    }

    /// The text of that page; `None` without a build of the web.
    pub(super) fn index_text(&self) -> Option<String> {
        let file = (self.find)(INDEX)?;
        String::from_utf8(file.bytes.into_owned()).ok()
    }

    fn serve(&self, name: &str, headers: &HeaderMap) -> Option<Response<Body>> {
        let compressed = ENCODINGS.into_iter().find_map(|(encoding, ending)| {
            let file =
                accepts(headers, encoding).then(|| (self.find)(&format!("{name}{ending}"))).flatten()?;
            Some((file, Some(encoding)))
        });
        let (file, encoding) = compressed.or_else(|| Some(((self.find)(name)?, None)))?;
        let mut response = serve(name, file, headers);
        response.headers_mut().insert(VARY, HeaderValue::from_static("accept-encoding"));
        if let Some(encoding) = encoding {
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        Some(response)
    }
}

/// A page that was written for this answer, as safe as the pages of the build.
pub(super) fn written_page(html: String, request: &HeaderMap) -> Response<Body> {
    let file = WrittenFile { media_type: "text/html; charset=utf-8", text: html };
    let mut response = written_text(file, request);
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, PAGE_SECURITY);
    response
}

/// A file that was written for this answer. It holds no secret that its compressed length could reveal.
pub(super) fn written_text(file: WrittenFile, request: &HeaderMap) -> Response<Body> {
    let is_compressed = file.text.len() >= COMPRESS_BYTES_MIN && accepts(request, "gzip");
    let body = if is_compressed { gzip(file.text.as_bytes()) } else { file.text.into_bytes() };
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(file.media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(REVALIDATED));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if is_compressed {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

pub(super) fn only_read() -> Response<Body> {
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "The method must be GET or HEAD.\n");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}

pub(super) fn not_found() -> Response<Body> {
    text(StatusCode::NOT_FOUND, "There is nothing here.\n")
}

fn serve(name: &str, file: WebFile, headers: &HeaderMap) -> Response<Body> {
    let etag = entity_tag(&file.sha256);
    let is_unchanged = headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|candidate| {
            matches!(candidate.trim(), "*") || candidate.trim().trim_start_matches("W/") == etag
        });
    let mut response = if is_unchanged {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        let body = match file.bytes {
            Cow::Borrowed(bytes) => Body::from(bytes),
            Cow::Owned(bytes) => Body::from(bytes),
        };
        let mut response = Response::new(body);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type(name)));
        response
    };
    let caching = if name.starts_with("assets/") { IMMUTABLE } else { REVALIDATED };
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        response.headers_mut().insert(ETAG, etag);
    }
    // A page that the browser has takes the policy of this answer.
    if name.ends_with(".html") {
        let policy = if name == PLAYGROUND { PLAYGROUND_SECURITY } else { PAGE_SECURITY };
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// A strong tag of the first 16 bytes of the file's hash.
fn entity_tag(sha256: &[u8; 32]) -> String {
    let mut etag = String::with_capacity(34);
    etag.push('"');
    for byte in &sha256[..16] {
        for digit in [byte >> 4, byte & 0xf] {
            etag.extend(char::from_digit(u32::from(digit), 16));
        }
    }
    etag.push('"');
    etag
}

fn text(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The kinds of files a build by Vite consists of.
fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("webp") => "image/webp",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("woff") => "font/woff",
        Some("ttf") => "font/ttf",
        Some("wasm") => "application/wasm",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, header::ACCEPT_ENCODING};

    use super::*;

    fn built(path: &str) -> Option<WebFile> {
        let bytes: &'static [u8] = match path {
            "index.html" => b"<!doctype html><title>Onehop</title>",
            "graphiql.html" => b"<!doctype html><title>GraphiQL</title>",
            "assets/index-4f2a.js" => b"export {}",
            "assets/index-4f2a.js.br" => b"by brotli",
            "assets/index-4f2a.js.gz" => b"by gzip, longer",
            "favicon.svg" => b"<svg/>",
            _ => return None,
        };
        Some(WebFile { bytes: Cow::Borrowed(bytes), sha256: [bytes.len() as u8; 32] })
    }

    fn files() -> StaticFiles {
        StaticFiles::from_source(built)
    }

    fn file(path: &str) -> Response<Body> {
        files().file(path, &HeaderMap::new()).unwrap()
    }

    fn header(response: &Response<Body>, name: HeaderName) -> &str {
        response.headers().get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    #[test]
    fn pages_and_assets_have_their_types_and_caching() {
        for (response, content_type, caching) in [
            (files().index(&HeaderMap::new()), "text/html; charset=utf-8", REVALIDATED),
            (file("/graphiql"), "text/html; charset=utf-8", REVALIDATED),
            (file("/graphiql/"), "text/html; charset=utf-8", REVALIDATED),
            (file("/favicon.svg"), "image/svg+xml", REVALIDATED),
            (file("/assets/index-4f2a.js"), "text/javascript; charset=utf-8", IMMUTABLE),
        ] {
            assert_eq!(response.status(), StatusCode::OK);
            assert_eq!(header(&response, CONTENT_TYPE), content_type);
            assert_eq!(header(&response, CACHE_CONTROL), caching);
        }
    }

    #[test]
    fn file_is_sent_in_the_best_encoding_that_the_client_takes() {
        for (accepted, encoding) in [
            ("gzip, deflate, br", "br"),
            ("gzip", "gzip"),
            ("br;q=0, gzip;q=0.5", "gzip"),
            ("BR", "br"),
            ("identity", ""),
            ("", ""),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(accepted))]);
            let response = files().file("/assets/index-4f2a.js", &headers).unwrap();
            assert_eq!(header(&response, CONTENT_ENCODING), encoding, "{accepted}");
            assert_eq!(header(&response, CONTENT_TYPE), "text/javascript; charset=utf-8");
            assert_eq!(header(&response, VARY), "accept-encoding");
        }
    }

    #[test]
    fn each_encoding_of_a_file_has_a_tag_of_its_own() {
        let of = |accepted| {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(accepted))]);
            files().file("/assets/index-4f2a.js", &headers).unwrap().headers()[ETAG].clone()
        };
        assert!(of("br") != of("gzip") && of("gzip") != of("identity") && of("br") == of("br, gzip"));
    }

    #[test]
    fn each_page_has_its_policy_also_when_the_browser_has_the_page() {
        for (path, policy) in [("/", PAGE_SECURITY), ("/graphiql", PLAYGROUND_SECURITY)] {
            let page = |headers: &HeaderMap| match path {
                "/" => files().index(headers),
                path => files().file(path, headers).unwrap(),
            };
            let response = page(&HeaderMap::new());
            assert_eq!(response.headers()[CONTENT_SECURITY_POLICY], policy);
            let response = page(&HeaderMap::from_iter([(IF_NONE_MATCH, response.headers()[ETAG].clone())]));
            assert_eq!(response.status(), StatusCode::NOT_MODIFIED);
            assert_eq!(response.headers()[CONTENT_SECURITY_POLICY], policy);
        }
        assert_eq!(file("/assets/index-4f2a.js").headers().get(CONTENT_SECURITY_POLICY), None);
        assert_eq!(
            written_page(String::new(), &HeaderMap::new()).headers()[CONTENT_SECURITY_POLICY],
            PAGE_SECURITY
        );
    }

    #[test]
    fn no_policy_lets_a_page_run_scripts_that_are_not_of_the_build() {
        for policy in [PAGE_SECURITY, PLAYGROUND_SECURITY] {
            let policy = policy.to_str().unwrap();
            let scripts = policy.split("; ").find(|rule| rule.starts_with("script-src"));
            assert_eq!(scripts, Some("script-src 'self'"));
            for rule in
                ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]
            {
                assert!(policy.contains(rule), "{rule}");
            }
        }
    }

    #[test]
    fn file_that_the_browser_has_is_not_sent_again() {
        let etag = files().index(&HeaderMap::new()).headers()[ETAG].clone();
        let headers = HeaderMap::from_iter([(IF_NONE_MATCH, etag.clone())]);
        let response = files().index(&headers);
        assert_eq!(response.status(), StatusCode::NOT_MODIFIED);
        assert_eq!(response.headers()[ETAG], etag);
        assert_eq!(files().file("/favicon.svg", &headers).unwrap().status(), StatusCode::OK);
    }

    #[test]
    fn path_outside_the_build_has_no_file() {
        for path in ["/posts/1", "/../Cargo.toml", "/assets/gone.js"] {
            assert!(files().file(path, &HeaderMap::new()).is_none(), "{path}");
        }
    }

    #[test]
    fn missing_web_build_says_how_to_build_it() {
        let files = StaticFiles::from_source(|_| None);
        assert!(!files.has_pages());
        let response = files.index(&HeaderMap::new());
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(header(&response, CONTENT_TYPE), "text/plain; charset=utf-8");
    }

    #[test]
    fn playground_that_is_switched_off_is_not_found() {
        for path in ["/graphiql", "/graphiql/", "/graphiql.html"] {
            assert!(files().file(path, &HeaderMap::new()).is_some(), "{path}");
            let without = files().with_playground(false);
            assert!(without.file(path, &HeaderMap::new()).is_none(), "{path}");
        }
    }
}
