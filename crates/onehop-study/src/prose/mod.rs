//! Text generator: readable English titles, bodies and replies of a chosen length, put together from
//! sentences with slots. It knows lengths and grammar. The data set decides what the texts belong to and who
//! wrote them.

mod deck;
mod slots;
#[cfg(test)]
mod tests;
mod text_subject;
mod vocabulary;

pub use self::text_subject::TextSubject;

use self::deck::Deck;
use self::slots::SlotFiller;
use self::vocabulary::{ReplyPart, TextPart, VOCABULARY};
use super::rng::StreamRng;

/// Characters of a title.
pub const TITLE_CHARS_MAX: usize = 80;
/// Characters of a short body.
pub const BODY_CHARS_MIN: usize = 200;
/// Keeps an item with a short body and some ten other properties within 1 KB of JSON, up to which a point
/// read is charged 1 RU.
pub const BODY_CHARS_MAX: usize = 600;
/// Characters of a reply.
pub const REPLY_CHARS_MIN: usize = 50;
/// Characters of a reply.
pub const REPLY_CHARS_MAX: usize = 600;

/// A long body goes on until it has this many, which makes it 1,600 in the mean.
const LONG_BODY_CHARS_MIN: usize = 1_415;
/// A long reply goes on until it has this many, which makes it 500 in the mean.
const LONG_REPLY_CHARS_MIN: usize = 470;

/// Enough for most replies; longer ones grow once.
const REPLY_CHARS_RESERVED: usize = 224;
/// Room for one sentence beyond the limit, which is then taken back.
const BODY_CHARS_RESERVED: usize = BODY_CHARS_MAX + 200;

/// The length of bodies and replies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TextLength {
    /// 200 to 600 characters a body, some 130 a reply.
    #[default]
    Short,
    /// 1,600 characters a body and 500 a reply in the mean.
    Long,
}

/// A title and a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    pub title: String,
    /// Paragraphs with an empty line between them.
    pub body: String,
}

/// The subject in the title of a text, and its opening after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TitleFocus {
    Item,
    Act,
}

impl TitleFocus {
    /// A title that names neither goes with both.
    fn of_title(frame: &str, rng: &mut StreamRng) -> Self {
        let either = if rng.below(2) == 0 { Self::Item } else { Self::Act };
        match (frame.contains("item"), frame.contains("{do")) {
            (true, _) => Self::Item,
            (false, true) => Self::Act,
            (false, false) => either,
        }
    }
}

impl Text {
    /// Writes a title and a body.
    pub fn write(scene: TextSubject, length: TextLength, rng: &mut StreamRng) -> Self {
        let mut voice = SlotFiller::new(scene);
        let (own, common) = (&voice.topic().titles, &VOCABULARY.texts.titles);
        let choice = rng.below((own.len() + common.len()) as u32) as usize;
        let frame = if choice < own.len() { own[choice] } else { common[choice - own.len()] };
        let mut title = String::with_capacity(TITLE_CHARS_MAX);
        voice.write(frame, rng, &mut title);
        let focus = TitleFocus::of_title(frame, rng);
        let mut body = short_body(voice, focus, rng);
        while length == TextLength::Long && body.len() < LONG_BODY_CHARS_MIN {
            body.push_str("\n\n");
            body.push_str(&short_body(SlotFiller::new(TextSubject::draw(rng)), TitleFocus::Act, rng));
        }
        Self { title, body }
    }
}

fn short_body(voice: SlotFiller, focus: TitleFocus, rng: &mut StreamRng) -> String {
    let mut writer = BodyWriter { voice, focus, details: Deck::default() };
    let mut output = String::with_capacity(BODY_CHARS_RESERVED);
    for paragraph in rng.pick(&VOCABULARY.texts.outlines) {
        let mut separator = if output.is_empty() { "" } else { "\n\n" };
        for part in paragraph {
            let len_before = output.len();
            output.push_str(separator);
            writer.write(*part, rng, &mut output);
            if output.len() > BODY_CHARS_MAX {
                output.truncate(len_before);
            } else {
                separator = " ";
            }
        }
    }
    while output.len() < BODY_CHARS_MIN {
        output.push(' ');
        writer.write(TextPart::Detail, rng, &mut output);
    }
    output
}

struct BodyWriter {
    voice: SlotFiller,
    focus: TitleFocus,
    details: Deck,
}

impl BodyWriter {
    fn write(&mut self, part: TextPart, rng: &mut StreamRng, output: &mut String) {
        let frames = &VOCABULARY.texts;
        let frame = match part {
            TextPart::Opening if self.focus == TitleFocus::Item => *rng.pick(&frames.item_openings),
            TextPart::Opening => *rng.pick(&frames.act_openings),
            TextPart::Detail => self.details.deal(rng, &self.voice.topic().details),
            TextPart::Trouble => *rng.pick(&frames.troubles),
            TextPart::Lesson => *rng.pick(&frames.lessons),
            TextPart::Tool => *rng.pick(&frames.tools),
            TextPart::Tip => *rng.pick(&frames.tips),
            TextPart::Closing => *rng.pick(&frames.closings),
        };
        self.voice.write(frame, rng, output);
    }
}

/// Writes the replies to one text, one after the other, and repeats sentences as late as it can.
#[derive(Debug, Clone)]
pub struct ReplyWriter {
    voice: SlotFiller,
    length: TextLength,
    reactions: Deck,
    replies: Deck,
    own_replies: Deck,
    questions: Deck,
    own_questions: Deck,
}

impl ReplyWriter {
    /// Of the scene of the text.
    #[must_use]
    pub fn new(scene: TextSubject, length: TextLength) -> Self {
        Self {
            voice: SlotFiller::new(scene),
            length,
            reactions: Deck::default(),
            replies: Deck::default(),
            own_replies: Deck::default(),
            questions: Deck::default(),
            own_questions: Deck::default(),
        }
    }

    /// The next reply.
    pub fn reply(&mut self, rng: &mut StreamRng) -> String {
        let mut output = String::with_capacity(REPLY_CHARS_RESERVED);
        for part in rng.pick(&VOCABULARY.replies.outlines) {
            self.append(*part, rng, &mut output);
        }
        let chars_min = match self.length {
            TextLength::Short => REPLY_CHARS_MIN,
            TextLength::Long => LONG_REPLY_CHARS_MIN,
        };
        while output.len() < chars_min {
            self.append(ReplyPart::Reply, rng, &mut output);
        }
        output
    }

    fn append(&mut self, part: ReplyPart, rng: &mut StreamRng, output: &mut String) {
        let len_before = output.len();
        if len_before > 0 {
            output.push(' ');
        }
        let (topic, frames) = (self.voice.topic(), &VOCABULARY.replies);
        let own_words = rng.below(2) == 0;
        let frame = match part {
            ReplyPart::Reaction => self.reactions.deal(rng, &frames.reactions),
            ReplyPart::Reply if own_words => self.own_replies.deal(rng, &topic.replies),
            ReplyPart::Reply => self.replies.deal(rng, &frames.replies),
            ReplyPart::Question if own_words => self.own_questions.deal(rng, &topic.questions),
            ReplyPart::Question => self.questions.deal(rng, &frames.questions),
            ReplyPart::Farewell => *rng.pick(&frames.farewells),
        };
        self.voice.write(frame, rng, output);
        if output.len() > REPLY_CHARS_MAX {
            output.truncate(len_before);
        }
    }
}
