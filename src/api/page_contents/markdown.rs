//! Markdown of users as HTML, as the application shows it: raw HTML is text, a link leads to the web, to a
//! mail address or to nowhere, and an image is a link, since images of other hosts would leak the addresses
//! of readers.

use std::fmt::Write as _;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::http::page_html::escaped_lines;

/// The deepest nesting of elements; deeper text is shown without further elements.
const DEPTH_MAX: usize = 32;

/// The HTML of a text.
pub(super) fn html(text: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer =
        Writer { out: String::with_capacity(text.len() * 2), open: Vec::new(), is_in_head: false };
    for event in Parser::new_ext(text, options) {
        writer.event(event);
    }
    writer.out
}

struct Writer {
    out: String,
    /// The ends of the open elements; empty for an element that is not written.
    open: Vec<&'static str>,
    /// Whether the row of a table is its head.
    is_in_head: bool,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(end) => self.end(end),
            Event::Text(text) => self.out.push_str(&escaped_lines(&text)),
            Event::Code(code) | Event::InlineMath(code) | Event::DisplayMath(code) => {
                self.put(format_args!("<code>{}</code>", escaped_lines(&code)));
            }
            Event::Html(html) | Event::InlineHtml(html) => self.out.push_str(&escaped_lines(&html)),
            Event::FootnoteReference(name) => self.put(format_args!("[^{}]", escaped_lines(&name))),
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br />"),
            Event::Rule => self.out.push_str("<hr />"),
            Event::TaskListMarker(is_done) => self.out.push_str(if is_done { "☑ " } else { "☐ " }),
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        if self.open.len() >= DEPTH_MAX {
            self.open.push("");
            return;
        }
        let (begin, end) = match tag {
            Tag::Paragraph | Tag::HtmlBlock => ("<p>", "</p>"),
            // The title of the page is the first level.
            Tag::Heading { level: HeadingLevel::H1, .. } => ("<h2>", "</h2>"),
            Tag::Heading { level: HeadingLevel::H2, .. } => ("<h3>", "</h3>"),
            Tag::Heading { .. } => ("<h4>", "</h4>"),
            Tag::BlockQuote(_) => ("<blockquote>", "</blockquote>"),
            Tag::CodeBlock(_) => ("<pre tabindex=\"0\"><code>", "</code></pre>"),
            Tag::List(None) => ("<ul>", "</ul>"),
            Tag::List(Some(first)) => {
                self.put(format_args!("<ol start=\"{first}\">"));
                ("", "</ol>")
            }
            Tag::Item => ("<li>", "</li>"),
            Tag::Table(_) => (
                "<div class=\"markdown-table\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table>",
                "</tbody></table></div>",
            ),
            Tag::TableHead => {
                self.is_in_head = true;
                ("<thead><tr>", "</tr></thead><tbody>")
            }
            Tag::TableRow => ("<tr>", "</tr>"),
            Tag::TableCell if self.is_in_head => ("<th scope=\"col\">", "</th>"),
            Tag::TableCell => ("<td>", "</td>"),
            Tag::Emphasis => ("<em>", "</em>"),
            Tag::Strong => ("<strong>", "</strong>"),
            Tag::Strikethrough => ("<del>", "</del>"),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => match is_safe(dest_url) {
                true => {
                    let target = escaped_lines(dest_url.trim());
                    self.put(format_args!("<a href=\"{target}\" rel=\"nofollow ugc noopener\">"));
                    ("", "</a>")
                }
                false => ("", ""),
            },
            _ => ("", ""),
        };
        self.out.push_str(begin);
        self.open.push(end);
    }

    fn end(&mut self, end: TagEnd) {
        self.is_in_head &= end != TagEnd::TableHead;
        self.out.push_str(self.open.pop().unwrap_or_default());
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.out.write_fmt(text).expect("a String takes all text");
    }
}

/// Whether a link leads to the web, to a mail address, or to a path of this site.
fn is_safe(target: &str) -> bool {
    // A browser skips these in a scheme.
    let target: String =
        target.trim().chars().filter(|character| !character.is_control()).collect::<String>().to_lowercase();
    match target.split_once(':') {
        Some((scheme, _)) if !scheme.contains(['/', '?', '#']) => {
            matches!(scheme, "http" | "https" | "mailto")
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_elements() {
        assert_eq!(
            html("# One\n\nTwo *three* **four** `5`"),
            "<h2>One</h2><p>Two <em>three</em> <strong>four</strong> <code>5</code></p>"
        );
        assert_eq!(html("- a\n- [x] b"), "<ul><li>a</li><li>☑ b</li></ul>");
        assert!(
            html("| a |\n|---|\n| b |")
                .contains("<th scope=\"col\">a</th></tr></thead><tbody><tr><td>b</td></tr></tbody>")
        );
        assert_eq!(html("```rust\nfn a() {}\n```"), "<pre tabindex=\"0\"><code>fn a() {}\n</code></pre>");
    }

    #[test]
    fn raw_html_is_text() {
        let hostile = html("<script>alert(1)</script>\n\nText <img src=x onerror=alert(1)> end");
        assert!(!hostile.contains("<script") && !hostile.contains("<img"), "{hostile}");
        assert!(hostile.contains("&lt;img src=x onerror=alert(1)&gt;"), "{hostile}");
    }

    #[test]
    fn links_lead_to_the_web_or_nowhere() {
        assert!(
            html("[a](https://b.example/?c=1&d)")
                .contains("<a href=\"https://b.example/?c=1&amp;d\" rel=\"nofollow ugc noopener\">a</a>")
        );
        assert!(html("![a](/b.png)").contains("<a href=\"/b.png\""));
        for target in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "<java\tscript:x>",
        ] {
            let written = html(&format!("[a]({target})"));
            assert!(!written.contains("<a "), "{target}: {written}");
        }
        let quoted = html("[a](https://b.example/\"onclick=alert(1))");
        assert!(!quoted.contains("\"onclick"), "{quoted}");
    }

    #[test]
    fn deep_texts_are_bounded() {
        let written = html(&format!("{}a", "> ".repeat(5000)));
        assert!(written.matches("<blockquote>").count() <= DEPTH_MAX, "{}", written.len());
        assert_eq!(written.matches("<blockquote>").count(), written.matches("</blockquote>").count());
    }
}
