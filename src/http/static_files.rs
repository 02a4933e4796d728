//! The web build, embedded in the binary: pages, GraphiQL and their assets. Knows files and caching only.

use std::borrow::Cow;

use axum::{
    body::Body,
    http::{
        HeaderMap, HeaderValue, Method, Response, StatusCode,
        header::{ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH},
    },
};
use rust_embed::RustEmbed;

/// Names in `/assets/` carry a hash of what is in them, so a browser never asks for one twice.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// Everything else is asked for again with its ETag.
const REVALIDATED: &str = "no-cache";

/// A page runs the scripts of the build and talks to its own server, and makes no script out of text.
const PAGE_SECURITY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
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

const HOW_TO_BUILD: &str = "The web is not part of this build.\n\
    Build it with `npm ci && npm run build` in web/, then build the binary again.\n\
    The API is at /graphql.\n";

/// A file of the web build.
#[derive(Debug, Clone)]
pub struct WebFile {
    pub bytes: Cow<'static, [u8]>,
    pub sha256: [u8; 32],
}

/// Serves the files of the web build.
#[derive(Debug, Clone, Copy)]
pub struct StaticFiles {
    find: fn(&str) -> Option<WebFile>,
    client_routes: &'static [&'static str],
    playground: bool,
}

impl StaticFiles {
    /// The files embedded when the binary was built; a debug build reads `web/dist` as it is now.
    pub fn embedded() -> Self {
        Self::from_source(|path| {
            WebBuild::get(path).map(|file| WebFile { bytes: file.data, sha256: file.metadata.sha256_hash() })
        })
    }

    /// Files found otherwise.
    pub fn from_source(find: fn(&str) -> Option<WebFile>) -> Self {
        Self { find, client_routes: &[], playground: true }
    }

    /// First segments of paths that the SPA routes by itself: they answer with its page.
    pub fn with_client_routes(self, client_routes: &'static [&'static str]) -> Self {
        Self { client_routes, ..self }
    }

    /// Whether there is a playground. Without one its page is not found; what the pages share is.
    pub fn with_playground(self, playground: bool) -> Self {
        Self { playground, ..self }
    }

    /// Answers a request that no other route took.
    pub fn respond(&self, method: &Method, path: &str, headers: &HeaderMap) -> Response<Body> {
        if method != Method::GET && method != Method::HEAD {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "The method must be GET or HEAD.\n");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        self.page_or_asset(path.trim_start_matches('/'), headers)
    }

    fn page_or_asset(&self, path: &str, headers: &HeaderMap) -> Response<Body> {
        let found = match path {
            "" => self.named("index.html"),
            "graphiql" | "graphiql/" => {
                self.named("graphiql/index.html").or_else(|| self.named("graphiql.html"))
            }
            path => self.named(path).or_else(|| {
                let first = path.split('/').next().unwrap_or_default();
                self.client_routes.contains(&first).then(|| self.named("index.html")).flatten()
            }),
        };
        match found {
            Some((name, _)) if !self.playground && is_playground(name) => not_found(),
            Some((name, file)) => serve(name, file, headers),
            None if matches!(path, "" | "graphiql" | "graphiql/") && self.named("index.html").is_none() => {
                text(StatusCode::OK, HOW_TO_BUILD)
            }
            None => not_found(),
        }
    }

    fn named<'a>(&self, name: &'a str) -> Option<(&'a str, WebFile)> {
        (self.find)(name).map(|file| (name, file))
    }
}

fn not_found() -> Response<Body> {
    text(StatusCode::NOT_FOUND, "There is nothing here.\n")
}

fn is_playground(name: &str) -> bool {
    matches!(name, "graphiql/index.html" | "graphiql.html")
}

#[derive(RustEmbed)]
#[folder = "web/dist"]
#[allow_missing = true]
struct WebBuild;

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
        let policy = if is_playground(name) { PLAYGROUND_SECURITY } else { PAGE_SECURITY };
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
    use axum::http::HeaderName;

    use super::*;

    fn built(path: &str) -> Option<WebFile> {
        let bytes: &'static [u8] = match path {
            "index.html" => b"<!doctype html><title>Onehop</title>",
            "graphiql.html" => b"<!doctype html><title>GraphiQL</title>",
            "assets/index-4f2a.js" => b"export {}",
            "favicon.svg" => b"<svg/>",
            _ => return None,
        };
        Some(WebFile { bytes: Cow::Borrowed(bytes), sha256: [bytes.len() as u8; 32] })
    }

    fn respond(path: &str) -> Response<Body> {
        StaticFiles::from_source(built).respond(&Method::GET, path, &HeaderMap::new())
    }

    fn header(response: &Response<Body>, name: HeaderName) -> &str {
        response.headers().get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    #[test]
    fn pages_and_assets_have_their_types_and_caching() {
        for (path, content_type, caching) in [
            ("/", "text/html; charset=utf-8", REVALIDATED),
            ("/graphiql", "text/html; charset=utf-8", REVALIDATED),
            ("/graphiql/", "text/html; charset=utf-8", REVALIDATED),
            ("/favicon.svg", "image/svg+xml", REVALIDATED),
            ("/assets/index-4f2a.js", "text/javascript; charset=utf-8", IMMUTABLE),
        ] {
            let response = respond(path);
            assert_eq!(response.status(), StatusCode::OK, "{path}");
            assert_eq!(header(&response, CONTENT_TYPE), content_type, "{path}");
            assert_eq!(header(&response, CACHE_CONTROL), caching, "{path}");
        }
    }

    #[test]
    fn each_page_has_its_policy_also_when_the_browser_has_the_page() {
        for (path, policy) in [("/", PAGE_SECURITY), ("/graphiql", PLAYGROUND_SECURITY)] {
            let response = respond(path);
            assert_eq!(response.headers()[CONTENT_SECURITY_POLICY], policy, "{path}");
            let headers = HeaderMap::from_iter([(IF_NONE_MATCH, response.headers()[ETAG].clone())]);
            let response = StaticFiles::from_source(built).respond(&Method::GET, path, &headers);
            assert_eq!(response.status(), StatusCode::NOT_MODIFIED);
            assert_eq!(response.headers()[CONTENT_SECURITY_POLICY], policy, "{path}");
        }
        assert_eq!(respond("/assets/index-4f2a.js").headers().get(CONTENT_SECURITY_POLICY), None);
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
    fn graphiql_is_found_in_its_folder_first() {
        let files = StaticFiles::from_source(|path| {
            (path == "graphiql/index.html").then(|| WebFile { bytes: b"x".into(), sha256: [7; 32] })
        });
        assert_eq!(files.respond(&Method::GET, "/graphiql", &HeaderMap::new()).status(), StatusCode::OK);
    }

    #[test]
    fn page_that_the_browser_has_is_not_sent_again() {
        let etag = respond("/").headers()[ETAG].clone();
        let mut headers = HeaderMap::new();
        headers.insert(IF_NONE_MATCH, etag.clone());
        let response = StaticFiles::from_source(built).respond(&Method::GET, "/", &headers);
        assert_eq!(response.status(), StatusCode::NOT_MODIFIED);
        assert_eq!(response.headers()[ETAG], etag);

        let response = StaticFiles::from_source(built).respond(&Method::GET, "/favicon.svg", &headers);
        assert_eq!(response.status(), StatusCode::OK);
    }

    #[test]
    fn unknown_path_is_not_found_unless_the_spa_routes_it() {
        assert_eq!(respond("/post/1").status(), StatusCode::NOT_FOUND);
        assert_eq!(respond("/../Cargo.toml").status(), StatusCode::NOT_FOUND);
        assert_eq!(respond("/assets/gone.js").status(), StatusCode::NOT_FOUND);
        let files = StaticFiles::from_source(built).with_client_routes(&["post"]);
        let response = files.respond(&Method::GET, "/post/1", &HeaderMap::new());
        assert_eq!(header(&response, CONTENT_TYPE), "text/html; charset=utf-8");
        assert_eq!(header(&response, CACHE_CONTROL), REVALIDATED);
    }

    #[test]
    fn missing_web_build_says_how_to_build_it() {
        let files = StaticFiles::from_source(|_| None);
        let response = files.respond(&Method::GET, "/", &HeaderMap::new());
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(header(&response, CONTENT_TYPE), "text/plain; charset=utf-8");
        assert_eq!(
            files.respond(&Method::GET, "/assets/a.js", &HeaderMap::new()).status(),
            StatusCode::NOT_FOUND
        );
    }

    #[test]
    fn playground_that_is_switched_off_is_not_found() {
        let files = StaticFiles::from_source(built).with_playground(false);
        for path in ["/graphiql", "/graphiql/", "/graphiql.html"] {
            assert_eq!(respond(path).status(), StatusCode::OK, "{path}");
            let response = files.respond(&Method::GET, path, &HeaderMap::new());
            assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
        }
        assert_eq!(files.respond(&Method::GET, "/", &HeaderMap::new()).status(), StatusCode::OK);
    }

    #[test]
    fn static_files_are_only_read() {
        let response = StaticFiles::from_source(built).respond(&Method::POST, "/", &HeaderMap::new());
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(header(&response, ALLOW), "GET, HEAD");
    }
}
