//! Effects of a change of a model, with their severity.

use std::fmt;

use serde::Serialize;

/// The gravity of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing is rebuilt and no request fails.
    None,
    /// A list, copy or count is built beside the present one, then switched.
    Rebuild,
    /// Requests of present clients fail or mean something else.
    Breaking,
    /// Stored data do not fit the new model, so it is refused over them.
    Refused,
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::None => "none",
            Self::Rebuild => "rebuild",
            Self::Breaking => "breaking",
            Self::Refused => "refused",
        })
    }
}

/// One effect of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Effect {
    /// Its gravity.
    pub severity: Severity,
    /// The changed part, such as `Post.title`.
    pub place: String,
    /// The effect in one sentence.
    pub sentence: String,
}

/// The effects of a change of a model, the gravest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Diff {
    effects: Vec<Effect>,
}

impl Diff {
    /// The effects, the gravest first, then in the order of the model.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    /// The gravest severity.
    pub fn severity(&self) -> Severity {
        self.effects.iter().map(|effect| effect.severity).max().unwrap_or(Severity::None)
    }
}

impl fmt::Display for Diff {
    /// A line for each effect: severity, place, sentence.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for effect in &self.effects {
            writeln!(formatter, "{:<8} {}: {}", effect.severity, effect.place, effect.sentence)?;
        }
        Ok(())
    }
}

/// The effects while two models are compared.
#[derive(Default)]
pub(super) struct Effects {
    effects: Vec<Effect>,
}

impl Effects {
    pub fn add(&mut self, severity: Severity, place: impl Into<String>, sentence: impl Into<String>) {
        self.effects.push(Effect { severity, place: place.into(), sentence: sentence.into() });
    }

    /// The difference, the gravest effects first.
    pub fn into_diff(mut self) -> Diff {
        self.effects.sort_by_key(|effect| std::cmp::Reverse(effect.severity));
        Diff { effects: self.effects }
    }
}

/// The pairs of two lists by a key: each old part with the new one, then the new parts.
pub(super) fn pairs<'a, T>(
    old: &'a [T],
    new: &'a [T],
    key: fn(&T) -> &str,
) -> Vec<(Option<&'a T>, Option<&'a T>)> {
    let both = old.iter().map(|part| (Some(part), new.iter().find(|newer| key(newer) == key(part))));
    let is_added = |part: &&'a T| !old.iter().any(|older| key(older) == key(part));
    both.chain(new.iter().filter(is_added).map(|part| (None, Some(part)))).collect()
}
