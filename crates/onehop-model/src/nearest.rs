//! Spelling suggestions: the nearest known name by edit distance (Damerau-Levenshtein, optimal string
//! alignment).

/// Longest name that is compared, in characters. Longer names have no suggestion.
const NAME_CHARACTERS_MAX: usize = 64;

/// The known name with the smallest edit distance, if it is near: at most a third of the characters differ,
/// or the case alone. Names of one or two characters differ in the case alone.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    if length > NAME_CHARACTERS_MAX {
        return None;
    }
    let is_near = |distance: usize, candidate: &str| match distance {
        0 => false,
        1 => length > 2 || name.eq_ignore_ascii_case(candidate),
        distance => distance <= length / 3,
    };
    known
        .into_iter()
        .filter(|candidate| candidate.chars().count() <= NAME_CHARACTERS_MAX)
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, candidate)| is_near(*distance, candidate))
        .min()
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours between two names, without regard to case.
/// Names that differ in case alone have the distance 1.
fn distance(left: &str, right: &str) -> usize {
    let (left_lower, right_lower) = (left.to_lowercase(), right.to_lowercase());
    if left_lower == right_lower {
        return usize::from(left != right);
    }
    let left: Vec<char> = left_lower.chars().collect();
    let right: Vec<char> = right_lower.chars().collect();
    let mut rows = vec![vec![0; right.len() + 1]; left.len() + 1];
    rows[0] = (0..=right.len()).collect();
    for i in 1..=left.len() {
        rows[i][0] = i;
        for j in 1..=right.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(left[i - 1] != right[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_name_is_suggested() {
        let known = ["length", "range", "list"];
        assert_eq!(nearest("lenght", known), Some("length"));
        assert_eq!(nearest("List", known), Some("list"));
        assert_eq!(nearest("rnage", known), Some("range"));
    }

    #[test]
    fn a_distant_name_is_not_suggested() {
        assert_eq!(nearest("unique", ["length", "range"]), None);
        assert_eq!(nearest("B", ["A", "C"]), None);
        assert_eq!(nearest(&"x".repeat(100), ["x"]), None);
    }
}
