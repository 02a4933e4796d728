//! Shared parts of the pages of both searches: the form, the title and the address.

use super::formats::percent_encoded;
use crate::http::page_html::escaped;

/// The place of the form of a search. Forms need the application.
pub(super) fn form(label: &str, words: &str) -> String {
    format!(
        r#"<div class="field search-form awaits-script" aria-hidden="true"><label>{label}</label><div><input type="search" value="{}" disabled="" /><span class="button">Search</span></div></div>"#,
        escaped(words),
    )
}

/// The title of the page of a search.
pub(super) fn title(words: &str, without_words: &str) -> String {
    if words.is_empty() { without_words.to_owned() } else { format!("Search: {words}") }
}

/// The canonical path of a search.
pub(super) fn path(page: &str, words: &str) -> String {
    if words.is_empty() { page.to_owned() } else { format!("{page}?q={}", percent_encoded(words)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_in_the_title_and_in_the_address() {
        assert_eq!((title("", "Search"), path("/search", "")), ("Search".to_owned(), "/search".to_owned()));
        assert_eq!(title("a & b", "Search"), "Search: a & b");
        assert_eq!(path("/search", "a & \u{e9}"), "/search?q=a%20%26%20%C3%A9");
    }

    #[test]
    fn no_word_leaves_the_value_of_the_form() {
        assert!(form("Words", "\"><script>").contains(r#"value="&quot;&gt;&lt;script&gt;""#));
    }
}
