//! The vocabulary: sentences with slots, the words that fill them, and outlines, read from `vocabulary.json`.
//!
//! `topics` has the words of each topic, `texts` and `replies` sentences of any topic with the outlines that
//! put them in order, `words` the fillers for slots of any topic. An entry that occurs twice in a list is
//! chosen twice as often. Rules for the words, which the
//! tests of the parent module check: ASCII only, so that a character is a byte; British spelling; no double
//! quotes, which JSON would escape; no names of real people, brands or places.

use std::sync::LazyLock;

use serde::Deserialize;

/// The vocabulary of this crate.
pub(super) static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    serde_json::from_str(include_str!("vocabulary.json")).expect("a test parses the same file")
});

/// Strings that are parts of the file in the program.
type Words = Vec<&'static str>;

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
pub(super) struct Vocabulary {
    pub topics: Vec<TopicVocabulary>,
    pub texts: TextFrames,
    pub replies: ReplyFrames,
    pub words: CommonWords,
}

/// The vocabulary of one topic. `titles` are frames, as in [`TextFrames`]; the other lists have no slots.
#[derive(Deserialize)]
pub(super) struct TopicVocabulary {
    /// One word in lower case.
    pub name: &'static str,
    /// A mass noun: "I came late to {subject}."
    pub subject: &'static str,
    pub items: Vec<TopicNoun>,
    pub acts: Vec<Activity>,
    /// Singular with its article: "a sharp knife".
    pub tools: Words,
    /// Without a full stop.
    pub titles: Words,
    /// Whole sentences.
    pub details: Words,
    pub troubles: Vec<Incident>,
    /// Clauses in the present tense: "patience pays".
    pub lessons: Words,
    /// Imperatives in lower case, without a full stop: "weigh the water".
    pub tips: Words,
    /// Whole sentences that a reader might add from their own experience.
    pub replies: Words,
    pub questions: Words,
}

/// A countable thing of the topic.
#[derive(Deserialize)]
pub(super) struct TopicNoun {
    /// With its article: "an apple cake".
    pub one: &'static str,
    /// "apple cakes".
    pub many: &'static str,
}

impl TopicNoun {
    /// Without its article: "apple cake".
    pub fn bare(&self) -> &'static str {
        self.one.split_once(' ').map_or(self.one, |(_, bare)| bare)
    }
}

/// Something people do again and again.
#[derive(Deserialize)]
pub(super) struct Activity {
    /// "bake bread".
    pub infinitive: &'static str,
    /// "baking bread".
    pub gerund: &'static str,
}

/// A trouble and its remedy, both as clauses in the past tense.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct Incident {
    /// "the oven ran too hot".
    pub happened: &'static str,
    /// Begins with "I": "I covered it with foil".
    pub helped: &'static str,
}

/// Sentences of titles and bodies.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'static"))]
pub(super) struct TextFrames {
    /// In sentence case and without a full stop.
    pub titles: Words,
    /// For a text whose title names the item.
    pub item_openings: Words,
    /// For a text whose title names the act.
    pub act_openings: Words,
    pub troubles: Words,
    pub lessons: Words,
    pub tools: Words,
    pub tips: Words,
    pub closings: Words,
    /// The paragraphs of a body.
    pub outlines: Vec<Vec<Vec<TextPart>>>,
}

/// Sentences of replies.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
pub(super) struct ReplyFrames {
    /// The first words of readers.
    pub reactions: Words,
    /// Additions of readers from their own experience, beside the replies of the topic.
    pub replies: Words,
    pub questions: Words,
    pub farewells: Words,
    /// The sentences of a reply.
    pub outlines: Vec<Vec<ReplyPart>>,
}

/// The fillers for slots of any topic.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
pub(super) struct CommonWords {
    pub seasons: Words,
    pub numbers: Words,
    pub relations: Words,
    pub moments: Words,
}

/// One sentence of a body.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TextPart {
    Opening,
    Detail,
    Trouble,
    Lesson,
    Tool,
    Tip,
    Closing,
}

/// One sentence of a reply.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ReplyPart {
    Reaction,
    Reply,
    Question,
    Farewell,
}
