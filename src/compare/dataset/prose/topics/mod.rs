//! What posts and comments are about: one file per topic, each a vocabulary that the frames draw from.
//! The words know nothing of lengths, dates or people.
//!
//! House rules for the words, which the tests of [`super`] hold up: ASCII only, so that a character is a
//! byte; British spelling; no double quotes, which JSON would escape; nobody and nothing that exists by name.

mod books;
mod city;
mod cooking;
mod cycling;
mod gardening;
mod hiking;
mod music;
mod photography;
mod rust;
mod stargazing;

pub const TOPICS: [&Topic; 10] = [
    &books::BOOKS,
    &city::CITY,
    &cooking::COOKING,
    &cycling::CYCLING,
    &gardening::GARDENING,
    &hiking::HIKING,
    &music::MUSIC,
    &photography::PHOTOGRAPHY,
    &rust::RUST,
    &stargazing::STARGAZING,
];

/// The vocabulary of one topic. Lists marked "frame" may hold slots, see [`super::slots`].
pub struct Topic {
    /// A mass noun: "I came late to {subject}."
    pub subject: &'static str,
    pub items: &'static [Noun],
    pub acts: &'static [Act],
    /// Singular with its article: "a sharp knife".
    pub tools: &'static [&'static str],
    /// Frame; without a full stop.
    pub titles: &'static [&'static str],
    /// Whole sentences.
    pub details: &'static [&'static str],
    pub troubles: &'static [Trouble],
    /// Clauses in the present tense: "patience pays".
    pub lessons: &'static [&'static str],
    /// Imperatives in lower case, without a full stop: "weigh the water".
    pub tips: &'static [&'static str],
    /// Whole sentences a reader might add from their own experience.
    pub replies: &'static [&'static str],
    pub questions: &'static [&'static str],
}

/// A countable thing of the topic.
pub struct Noun {
    /// With its article: "an apple cake".
    pub one: &'static str,
    /// "apple cakes".
    pub many: &'static str,
}

impl Noun {
    /// Without its article: "apple cake".
    pub fn bare(&self) -> &'static str {
        self.one.split_once(' ').map_or(self.one, |(_, bare)| bare)
    }
}

/// Something people do again and again.
pub struct Act {
    /// "bake bread".
    pub infinitive: &'static str,
    /// "baking bread".
    pub gerund: &'static str,
}

/// Something that went wrong and what helped, both as clauses in the past tense.
#[derive(Clone, Copy)]
pub struct Trouble {
    /// "the oven ran too hot".
    pub happened: &'static str,
    /// Begins with "I": "I covered it with foil".
    pub helped: &'static str,
}

const fn noun(one: &'static str, many: &'static str) -> Noun {
    Noun { one, many }
}

const fn act(infinitive: &'static str, gerund: &'static str) -> Act {
    Act { infinitive, gerund }
}

const fn trouble(happened: &'static str, helped: &'static str) -> Trouble {
    Trouble { happened, helped }
}
