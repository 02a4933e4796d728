//! SQL of published queries: the parts that change a charge, found by their words. No parser: a case needs no
//! valid SQL.

/// The parts of a query that change its charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SqlParts {
    /// Conditions of the filter that compare a property with something.
    pub conditions: u32,
    /// Values of all `IN` lists.
    pub in_values: u32,
    /// Functions and subqueries of the answer.
    pub functions: u32,
    /// `LIKE`, `EXISTS` or a function in the filter: texts are compared item by item.
    pub compares_items: bool,
    pub is_ordered: bool,
    pub has_from: bool,
    pub has_join: bool,
}

/// Functions that an index serves, so that they compare nothing item by item.
const INDEXED_FUNCTIONS: [&str; 2] = ["STARTSWITH", "IS_DEFINED"];

impl SqlParts {
    pub(super) fn of(sql: &str) -> Self {
        let words = words(sql);
        let upper: Vec<String> = words.iter().map(|word| word.to_uppercase()).collect();
        let position = |name: &str| upper.iter().position(|word| word == name);
        let end_of_filter = ["ORDER", "GROUP", "OFFSET"].iter().filter_map(|name| position(name)).min();
        let filter = position("WHERE")
            .map(|start| &upper[start + 1..end_of_filter.unwrap_or(upper.len()).max(start + 1)])
            .unwrap_or_default();
        let answer = &upper[..position("FROM").unwrap_or(upper.len())];
        let mut parts = Self {
            is_ordered: position("ORDER").is_some(),
            has_from: position("FROM").is_some(),
            has_join: position("JOIN").is_some(),
            functions: match position("FROM") {
                Some(_) => functions(answer).filter(|name| *name != "COUNT").count() as u32,
                // Without items the answer is a constant.
                None => 0,
            },
            ..Self::default()
        };
        for condition in conditions(filter) {
            parts.add_condition(condition);
        }
        parts
    }

    fn add_condition(&mut self, condition: &[String]) {
        if is_tautology(condition) {
            return;
        }
        if let Some(start) = condition.iter().position(|word| word == "IN") {
            self.in_values += list_values(&condition[start + 1..]);
            return;
        }
        let compares = condition.iter().any(|word| word == "LIKE" || word == "EXISTS")
            || functions(condition).any(|name| !INDEXED_FUNCTIONS.contains(&name));
        self.compares_items |= compares;
        self.conditions += 1;
    }

    /// Whether an index serves the filter: it compares properties with values alone.
    pub(super) fn is_index_served(&self) -> bool {
        (self.conditions > 0 || self.in_values > 0) && !self.compares_items
    }
}

/// Words, numbers, texts in quotes, and single signs.
fn words(sql: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut characters = sql.chars().peekable();
    while let Some(character) = characters.next() {
        if character.is_whitespace() {
            continue;
        }
        let mut word = String::from(character);
        let is_name = |character: char| character.is_alphanumeric() || "_.@$".contains(character);
        if character == '\'' || character == '"' {
            for next in characters.by_ref() {
                word.push(next);
                if next == character {
                    break;
                }
            }
        } else if is_name(character) {
            while let Some(next) = characters.next_if(|next| is_name(*next)) {
                word.push(next);
            }
        }
        words.push(word);
    }
    words
}

/// The conditions of a filter, split at `AND` and `OR` outside brackets.
fn conditions(filter: &[String]) -> Vec<&[String]> {
    let (mut depth, mut start, mut found) = (0_i32, 0, Vec::new());
    for (place, word) in filter.iter().enumerate() {
        match word.as_str() {
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            "AND" | "OR" if depth == 0 => {
                found.push(&filter[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    found.push(&filter[start.min(filter.len())..]);
    found.retain(|condition| !condition.is_empty());
    found
}

/// Such as `1 = 1`.
fn is_tautology(condition: &[String]) -> bool {
    matches!(condition, [left, sign, right] if sign == "=" && left == right)
}

/// Names before an opening bracket, but for words of the language.
fn functions(words: &[String]) -> impl Iterator<Item = &str> {
    let is_name = |word: &str| word.starts_with(|first: char| first.is_alphabetic());
    let is_word =
        |word: &str| ["IN", "AND", "OR", "NOT", "SELECT", "VALUE", "FROM", "WHERE", "EXISTS"].contains(&word);
    words
        .windows(2)
        .filter(move |pair| pair[1] == "(" && is_name(&pair[0]) && !is_word(&pair[0]))
        .map(|pair| pair[0].as_str())
}

/// The values of a list, or their number in words: `(3 ids)`.
fn list_values(list: &[String]) -> u32 {
    let commas = list.iter().filter(|word| *word == ",").count() as u32;
    let number = list.iter().skip(1).find_map(|word| word.parse().ok());
    match number {
        Some(number) if commas == 0 && list.len() > 3 => number,
        _ => commas + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_lists_and_order_are_found() {
        let of = |sql| {
            let SqlParts { conditions, in_values, functions, compares_items, is_ordered, .. } =
                SqlParts::of(sql);
            (conditions, in_values, functions, compares_items, is_ordered)
        };
        for (sql, expected) in [
            ("SELECT * FROM c", (0, 0, 0, false, false)),
            ("SELECT * FROM c WHERE 1=1 AND 1=1", (0, 0, 0, false, false)),
            ("SELECT * FROM c WHERE c.p = \"a AND b\" AND 1=1", (1, 0, 0, false, false)),
            (
                "select * from c where c[\"a\"]=\"x\" and c[\"id\"]='y' offset 0 limit 2",
                (2, 0, 0, false, false),
            ),
            ("SELECT * FROM c WHERE c.type='tag' and c.id IN (5 ids)", (1, 5, 0, false, false)),
            ("SELECT * FROM c WHERE c.id IN ('a', 'b', 'c')", (0, 3, 0, false, false)),
            ("SELECT TOP 10 c.id FROM c WHERE c.type = 'x' ORDER BY c.n DESC", (1, 0, 0, false, true)),
            ("SELECT VALUE ARRAY_LENGTH(c.arr) FROM c WHERE c.id = 'ty1'", (1, 0, 1, false, false)),
            ("SELECT c.u FROM c WHERE c.p LIKE \"$User-%\" AND EXISTS (...)", (2, 0, 0, true, false)),
            ("SELECT VALUE c.d FROM c WHERE UPPER(c.d) = \"...\"", (1, 0, 0, true, false)),
            ("SELECT VALUE COUNT(1) FROM c", (0, 0, 0, false, false)),
        ] {
            assert_eq!(of(sql), expected, "{sql}");
        }
    }

    #[test]
    fn no_text_makes_it_panic() {
        for sql in [
            "",
            "WHERE",
            "WHERE WHERE",
            "((",
            "' unclosed",
            "ORDER BY WHERE x",
            "IN",
            "SELECT (((",
            "é WHERE é(",
        ] {
            let _ = SqlParts::of(sql);
        }
    }
}
