//! The HTML document of a page: the build's template with the metadata, the content and the data of one page.
//! Escapes texts. Knows no domain.

use std::fmt::Write as _;

use icu_properties::props::BidiControl;
use icu_properties::{CodePointSetData, CodePointSetDataBorrowed};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::page_contents::{EmbeddedResponse, PageHead, ShownPage};

/// Between these the build has the metadata that holds for all pages.
const HEAD: (&str, &str) = ("<!-- page -->", "<!-- /page -->");
/// Between these the build has the content of a page that waits for its script.
const CONTENT: (&str, &str) = ("<!-- content -->", "<!-- /content -->");
/// The place of the data of a page.
const DATA: &str = "<!-- data -->";
/// Before the address of the font of texts, in a comment of the build.
const READING_FONT: (&str, &str) = ("<!-- reading-font ", " -->");

/// The address of the sign-in page in the build.
const SIGN_IN: &str = r#"href="/signin""#;
/// The characters that `encodeURIComponent` escapes, and the apostrophe.
const URI_COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'(')
    .remove(b')');

/// The name of the site, in titles and metadata.
pub const SITE_NAME: &str = "Onehop";

/// Marks, embeddings, overrides and isolates of the bidirectional algorithm (UAX 9).
const BIDIRECTIONAL: CodePointSetDataBorrowed<'static> = CodePointSetData::new::<BidiControl>();

/// The document of a page at this origin; `None` where the template has no place for its metadata.
pub(super) fn document(template: &str, page: &ShownPage, origin: &str) -> Option<String> {
    let named = replaced(template, HEAD, &metadata(&page.head, origin))?;
    let preloaded = match page.head.has_reading_font {
        true => with_reading_font(&named),
        false => named,
    };
    // A search from the shop is for products. The build may break a line before the end of a tag.
    let searching = match is_in_shop(&page.head) {
        true => preloaded.replacen("<a href=\"/search\"", "<a href=\"/shop/search\"", 1),
        false => preloaded,
    };
    let signing_in = searching.replacen(SIGN_IN, &sign_in_address(&page.head), 1);
    let link = format!("<a href=\"{}\"", page.head.place);
    let path = page.head.path.split('?').next().unwrap_or_default();
    let current = if path == page.head.place { "page" } else { "true" };
    let placed = signing_in.replacen(&link, &format!("{link} aria-current=\"{current}\""), 1);
    let filled = replaced(&placed, CONTENT, &page.html).unwrap_or(placed);
    Some(filled.replacen(DATA, &data_block(&page.embedded), 1))
}

/// The sign-in page behind the masthead's link, which leads back to the page, as the application has it. The
/// shop has accounts of its own.
fn sign_in_address(head: &PageHead) -> String {
    let sign_in = if is_in_shop(head) { "/shop/signin" } else { "/signin" };
    match head.path.as_str() {
        "/" => format!(r#"href="{sign_in}""#),
        path => format!(r#"href="{sign_in}?next={}""#, utf8_percent_encode(path, URI_COMPONENT)),
    }
}

fn is_in_shop(head: &PageHead) -> bool {
    head.place.starts_with("/shop")
}

/// The text between two marks, and the marks, by another text.
fn replaced(template: &str, (begins, ends): (&str, &str), by: &str) -> Option<String> {
    let (before, rest) = template.split_once(begins)?;
    let (_, after) = rest.split_once(ends)?;
    Some([before, by, after].concat())
}

/// Preloads the font of texts, which fewer than half of the pages show.
fn with_reading_font(template: &str) -> String {
    let (begins, ends) = READING_FONT;
    let path = template.split_once(begins).and_then(|(_, rest)| Some(rest.split_once(ends)?.0));
    let Some(path) = path else { return template.to_owned() };
    let link = format!(r#"<link rel="preload" as="font" type="font/woff2" crossorigin="" href="{path}" />"#);
    replaced(template, READING_FONT, &link).unwrap_or_else(|| template.to_owned())
}

fn metadata(head: &PageHead, origin: &str) -> String {
    let title = escaped(&head.title);
    let description = escaped(&head.description);
    let address = escaped(&format!("{origin}{}", head.path));
    let full_title = if head.title == SITE_NAME { title.clone() } else { format!("{title} · {SITE_NAME}") };
    let mut html = format!(
        "<title>{full_title}</title>\n    \
         <meta name=\"description\" content=\"{description}\" />\n    \
         <link rel=\"canonical\" href=\"{address}\" />\n    \
         <meta property=\"og:site_name\" content=\"{SITE_NAME}\" />\n    \
         <meta property=\"og:type\" content=\"{}\" />\n    \
         <meta property=\"og:title\" content=\"{title}\" />\n    \
         <meta property=\"og:description\" content=\"{description}\" />\n    \
         <meta property=\"og:url\" content=\"{address}\" />",
        head.kind.open_graph_type(),
    );
    if let Some(image) = &head.image {
        let image = escaped(&format!("{origin}{image}"));
        append(&mut html, format_args!("\n    <meta property=\"og:image\" content=\"{image}\" />"));
        append(
            &mut html,
            format_args!("\n    <meta name=\"twitter:card\" content=\"summary_large_image\" />"),
        );
    }
    for (property, content) in &head.properties {
        let content = escaped(content);
        append(&mut html, format_args!("\n    <meta property=\"{property}\" content=\"{content}\" />"));
    }
    if let Some(linked_data) = &head.linked_data {
        let json = script_json(&with_addresses(linked_data, origin));
        append(&mut html, format_args!("\n    <script type=\"application/ld+json\">{json}</script>"));
    }
    html
}

fn append(html: &mut String, text: std::fmt::Arguments<'_>) {
    html.write_fmt(text).expect("a String takes all text");
}

/// Linked data whose paths are addresses of this origin: in `url`, `image`, `item` and `@id`.
fn with_addresses(value: &Value, origin: &str) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| match value {
                Value::String(path)
                    if matches!(name.as_str(), "url" | "image" | "item" | "@id") && path.starts_with('/') =>
                {
                    (name.clone(), Value::String(format!("{origin}{path}")))
                }
                value => (name.clone(), with_addresses(value, origin)),
            });
            Value::Object(members.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| with_addresses(item, origin)).collect()),
        other => other.clone(),
    }
}

/// The responses that the application finds in the page, as a data block, which no browser executes.
fn data_block(embedded: &[EmbeddedResponse]) -> String {
    if embedded.is_empty() {
        return String::new();
    }
    let responses = embedded.iter().map(|EmbeddedResponse { operation, variables, response }| {
        let operation = Value::String((*operation).to_owned());
        format!(r#"{{"operation":{operation},"variables":{variables},"response":{response}}}"#)
    });
    let json = responses.collect::<Vec<_>>().join(",");
    format!(r#"<script type="application/json" id="embedded">[{}]</script>"#, in_script(&json))
}

/// JSON in a script element, which nothing in a text can end.
fn script_json(value: &Value) -> String {
    in_script(&value.to_string())
}

/// In JSON, `<` occurs inside of strings only.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// Text that means itself, in elements and in quoted attributes. Lines and other control characters become
/// spaces. Bidirectional controls are left out: a title has no element that could isolate them, and one of
/// them would reverse the following text.
#[must_use]
pub fn escaped(text: &str) -> String {
    escape(text, |character| character.is_control())
}

/// As [`escaped`], for a text of several lines.
#[must_use]
pub fn escaped_lines(text: &str) -> String {
    escape(text, |character| character.is_control() && !matches!(character, '\n' | '\t'))
}

fn escape(text: &str, is_space: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            character if BIDIRECTIONAL.contains(character) => {}
            character if is_space(character) => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}
