//! Indexing policies of a ledger: Azure Cosmos DB's JSON, or a few words.

use serde_json::Value;

use onehop_store::charges::IndexingPolicy;

/// The indexing policy of a case.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CasePolicy {
    pub policy: IndexingPolicy,
    /// The number of included paths where everything else is excluded; `None` where everything is indexed.
    pub included: Option<usize>,
    /// The excluded paths, where everything else is indexed.
    pub excluded: Vec<String>,
}

impl CasePolicy {
    pub(super) fn of(indexing: Option<&Value>) -> Self {
        match indexing {
            Some(Value::String(words)) => Self::of_words(words),
            Some(Value::Object(_)) => Self::of_json(indexing.unwrap_or(&Value::Null)),
            _ => Self::of_words("default"),
        }
    }

    /// Such as `default`, `none (/* excluded)`, `/a/* only`, `/b/* excluded`, `unique key /email`.
    fn of_words(words: &str) -> Self {
        let lower = words.to_lowercase();
        let paths: Vec<&str> = words
            .split([',', ' ', ';', '(', ')'])
            .filter(|word| word.starts_with('/') && word.len() > 1)
            .collect();
        let unique_keys = if lower.contains("unique") { paths.len().max(1) } else { 0 };
        if lower.starts_with("none") {
            return Self::only(&[]);
        }
        let policy_paths: Vec<String> =
            paths.iter().filter(|path| **path != "/*").map(|path| whole(path)).collect();
        let mut found = if unique_keys == 0 && lower.contains("only") {
            Self::only(&policy_paths)
        } else if unique_keys == 0 && lower.contains("excluded") {
            Self::all_but(policy_paths)
        } else {
            Self::all_but(Vec::new())
        };
        found.policy = found.policy.with_unique_keys(unique_keys);
        if lower.contains("composite") {
            found.policy = found.policy.with_composite(&paths);
        }
        found
    }

    /// `{"includedPaths": [{"path": "/*"}], "excludedPaths": [..], "compositeIndexes": [[{"path": "/a"},
    /// ..]]}`.
    fn of_json(json: &Value) -> Self {
        let paths = |name: &str| -> Vec<String> {
            let list = json[name].as_array().map(Vec::as_slice).unwrap_or_default();
            list.iter()
                .filter_map(|entry| entry["path"].as_str().or(entry.as_str()).map(str::to_owned))
                .collect()
        };
        let (included, excluded) = (paths("includedPaths"), paths("excludedPaths"));
        let is_all_excluded = excluded.iter().any(|path| path == "/*");
        let is_off = json["indexingMode"].as_str() == Some("none");
        let mut found = if is_off {
            Self::only(&[])
        } else if is_all_excluded {
            Self::only(&included)
        } else {
            Self::all_but(excluded)
        };
        for composite in json["compositeIndexes"].as_array().into_iter().flatten() {
            let entries = composite.as_array().map(Vec::as_slice).unwrap_or_default();
            let paths: Vec<&str> = entries.iter().filter_map(|entry| entry["path"].as_str()).collect();
            found.policy = found.policy.with_composite(&paths);
        }
        let keys = json["uniqueKeys"].as_array().map_or(0, Vec::len);
        found.policy = found.policy.with_unique_keys(keys);
        found
    }

    fn only(included: &[String]) -> Self {
        let paths: Vec<&str> = included.iter().map(String::as_str).collect();
        let policy = IndexingPolicy::of(&paths, &["/*"]).unwrap_or_else(|_| IndexingPolicy::everything());
        Self { policy, included: Some(included.len()), excluded: Vec::new() }
    }

    fn all_but(excluded: Vec<String>) -> Self {
        let paths: Vec<&str> = excluded.iter().map(String::as_str).collect();
        let policy = IndexingPolicy::of(&["/*"], &paths).unwrap_or_else(|_| IndexingPolicy::everything());
        Self { policy, included: None, excluded }
    }
}

/// A path without an end includes everything below.
fn whole(path: &str) -> String {
    if path.ends_with("/*") || path.ends_with("/?") { path.to_owned() } else { format!("{path}/*") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onehop_store::charges::{IndexTerms, TermCount};
    use serde_json::json;

    const ITEM: &str = r#"{"id": "1", "pk": "p", "a": {"b": 1, "c": null}, "email": "x"}"#;

    fn terms(indexing: &Value) -> TermCount {
        let policy = CasePolicy::of(Some(indexing)).policy;
        IndexTerms::of(&policy, ITEM).count(&policy)
    }

    #[test]
    fn words_and_json_make_the_same_policies() {
        let all = TermCount { plain: 5, literals: 1, composites: 0 };
        let everything =
            json!({"includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/\"_etag\"/?"}]});
        for (words, json, expected) in [
            ("default", everything, all),
            ("none (/* excluded)", json!({"indexingMode": "none"}), TermCount::of(1)),
            (
                "/a/* only",
                json!({"includedPaths": [{"path": "/a/*"}], "excludedPaths": [{"path": "/*"}]}),
                TermCount { plain: 3, literals: 1, composites: 0 },
            ),
            (
                "/a/* excluded",
                json!({"includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/a/*"}]}),
                TermCount::of(3),
            ),
        ] {
            assert_eq!(terms(&words.into()), expected, "{words}");
            assert_eq!(terms(&json), expected, "{json}");
        }
    }

    #[test]
    fn a_unique_key_indexes_all_the_same() {
        let policy = CasePolicy::of(Some(&"unique key /email".into())).policy;
        assert_eq!((policy.unique_keys(), IndexTerms::of(&policy, ITEM).count(&policy).plain), (1, 5));
    }
}
