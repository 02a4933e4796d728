//! Template filling: a frame is a sentence with slots in braces, and a voice fills them with the words of one
//! scene. The article belongs to the noun in the vocabulary, so "a" and "an" are right.

use super::deck::Deck;
use super::text_subject::TextSubject;
use super::vocabulary::{TopicVocabulary, VOCABULARY};
use crate::rng::StreamRng;

#[derive(Debug, Clone)]
pub(super) struct SlotFiller {
    scene: TextSubject,
    troubles: Deck,
    lessons: Deck,
    tips: Deck,
    relations: Deck,
    /// The remedy against the last trouble in the text.
    helped: &'static str,
}

impl SlotFiller {
    pub fn new(scene: TextSubject) -> Self {
        let deck = Deck::default;
        Self { scene, troubles: deck(), lessons: deck(), tips: deck(), relations: deck(), helped: "" }
    }

    pub fn topic(&self) -> &'static TopicVocabulary {
        &VOCABULARY.topics[usize::from(self.scene.topic)]
    }

    /// Appends `frame` with its slots filled and its first letter in upper case.
    pub fn write(&mut self, frame: &'static str, rng: &mut StreamRng, output: &mut String) {
        let start = output.len();
        let mut rest = frame;
        while let Some((before, opened)) = rest.split_once('{') {
            let (slot, after) = opened.split_once('}').unwrap_or((opened, ""));
            output.push_str(before);
            output.push_str(self.word(slot, rng));
            rest = after;
        }
        output.push_str(rest);
        if let Some(first) = output.get_mut(start..start + 1) {
            first.make_ascii_uppercase();
        }
    }

    /// The word for a slot. An unknown slot stands for itself, so that a misspelt one is seen.
    fn word(&mut self, slot: &'static str, rng: &mut StreamRng) -> &'static str {
        let (topic, common) = (self.topic(), &VOCABULARY.words);
        let item = &topic.items[usize::from(self.scene.item)];
        let act = &topic.acts[usize::from(self.scene.act)];
        match slot {
            "subject" => topic.subject,
            "item" => item.bare(),
            "an item" => item.one,
            "items" => item.many,
            "do" => act.infinitive,
            "doing" => act.gerund,
            "a tool" => topic.tools[usize::from(self.scene.tool)],
            "trouble" => {
                let trouble = self.troubles.deal(rng, &topic.troubles);
                self.helped = trouble.helped;
                trouble.happened
            }
            "fix" => self.helped,
            "lesson" => self.lessons.deal(rng, &topic.lessons),
            "tip" => self.tips.deal(rng, &topic.tips),
            "relation" => self.relations.deal(rng, &common.relations),
            "season" => common.seasons[usize::from(self.scene.season)],
            "number" => rng.pick::<&str>(&common.numbers),
            "when" => rng.pick::<&str>(&common.moments),
            unknown => unreachable!("no slot is called {unknown}"),
        }
    }
}
