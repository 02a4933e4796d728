//! Text subjects: the topics of texts, drawn from the vocabulary.

use super::vocabulary::VOCABULARY;
use crate::rng::StreamRng;

/// The subject of a text. Replies to it are about the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextSubject {
    pub(super) topic: u8,
    pub(super) item: u8,
    pub(super) act: u8,
    pub(super) tool: u8,
    pub(super) season: u8,
}

impl TextSubject {
    /// Draws a topic and its names.
    pub fn draw(rng: &mut StreamRng) -> Self {
        let topic = rng.below(VOCABULARY.topics.len() as u32);
        let words = &VOCABULARY.topics[topic as usize];
        let mut below = |list_len: usize| rng.below(list_len as u32) as u8;
        let (item, act, tool) = (below(words.items.len()), below(words.acts.len()), below(words.tools.len()));
        let season = below(VOCABULARY.words.seasons.len());
        Self { topic: topic as u8, item, act, tool, season }
    }

    /// Words for the subject: its topic, and now and then the season.
    #[must_use]
    pub fn tags(&self) -> Vec<&'static str> {
        let topic = VOCABULARY.topics[usize::from(self.topic)].name;
        let season = VOCABULARY.words.seasons[usize::from(self.season)];
        let has_season = (self.item + self.act).is_multiple_of(3);
        std::iter::once(topic).chain(has_season.then_some(season)).collect()
    }
}
