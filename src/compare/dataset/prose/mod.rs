//! Readable English for posts and comments, put together from [`frames`] and the words of [`topics`]. Knows
//! lengths and grammar, and neither ids nor dates nor the data set.

mod deck;
mod frames;
mod slots;
#[cfg(test)]
mod tests;
mod topics;

use clap::ValueEnum;
use frames::{CommentPart, PostPart};
use serde::{Deserialize, Serialize};

use self::deck::Deck;
use self::slots::Voice;
use self::topics::TOPICS;
use super::rng::Rng;

pub const TITLE_CHARS_MAX: usize = 80;
pub const CONTENT_CHARS_MIN: usize = 200;
/// Keeps the item of a post within 1 KB of JSON, the size up to which a point read is charged 1 RU.
pub const CONTENT_CHARS_MAX: usize = 600;
pub const COMMENT_CHARS_MIN: usize = 50;
pub const COMMENT_CHARS_MAX: usize = 600;

/// A long content goes on until it has so many, which makes it 1,600 in the mean.
const LONG_CONTENT_CHARS_MIN: usize = 1_415;
/// A long comment goes on until it has so many, which makes it 500 in the mean.
const LONG_COMMENT_CHARS_MIN: usize = 470;

/// Enough for most comments; longer ones grow once.
const COMMENT_CHARS_RESERVED: usize = 224;
/// Room for one sentence beyond the limit, which is then taken back.
const CONTENT_CHARS_RESERVED: usize = CONTENT_CHARS_MAX + 200;

/// How long the texts are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "camelCase")]
pub enum Texts {
    /// 200 to 600 characters for a post, some 130 for a comment
    #[default]
    Short,
    /// 1,600 characters for a post and 500 for a comment in the mean, as the article's request charges imply
    Long,
}

/// What a post is about. Its comments are about the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scene {
    topic: u8,
    item: u8,
    act: u8,
    tool: u8,
    season: u8,
}

impl Scene {
    pub fn draw(rng: &mut Rng) -> Self {
        let topic = rng.below(TOPICS.len() as u32);
        let words = TOPICS[topic as usize];
        let mut below = |list_len: usize| rng.below(list_len as u32) as u8;
        let (item, act, tool) = (below(words.items.len()), below(words.acts.len()), below(words.tools.len()));
        let season = below(frames::SEASONS.len());
        Self { topic: topic as u8, item, act, tool, season }
    }
}

/// What the title of a post names, and its opening after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Focus {
    Item,
    Act,
}

impl Focus {
    /// A title that names neither goes with both.
    fn of_title(frame: &str, rng: &mut Rng) -> Self {
        let either = if rng.below(2) == 0 { Self::Item } else { Self::Act };
        match (frame.contains("item"), frame.contains("{do")) {
            (true, _) => Self::Item,
            (false, true) => Self::Act,
            (false, false) => either,
        }
    }
}

/// The title and the content of a post.
pub fn post(scene: Scene, texts: Texts, rng: &mut Rng) -> (String, String) {
    let mut voice = Voice::new(scene);
    let (own, common) = (voice.topic().titles, frames::TITLES);
    let choice = rng.below((own.len() + common.len()) as u32) as usize;
    let frame = if choice < own.len() { own[choice] } else { common[choice - own.len()] };
    let mut title = String::with_capacity(TITLE_CHARS_MAX);
    voice.write(frame, rng, &mut title);
    let focus = Focus::of_title(frame, rng);
    let mut content = content(voice, focus, rng);
    while texts == Texts::Long && content.len() < LONG_CONTENT_CHARS_MIN {
        content.push_str("\n\n");
        content.push_str(&self::content(Voice::new(Scene::draw(rng)), Focus::Act, rng));
    }
    (title, content)
}

fn content(voice: Voice, focus: Focus, rng: &mut Rng) -> String {
    let mut writer = PostWriter { voice, focus, details: Deck::default() };
    let mut output = String::with_capacity(CONTENT_CHARS_RESERVED);
    for paragraph in pick(rng, frames::POST_OUTLINES) {
        let mut separator = if output.is_empty() { "" } else { "\n\n" };
        for part in *paragraph {
            let len_before = output.len();
            output.push_str(separator);
            writer.write(*part, rng, &mut output);
            if output.len() > CONTENT_CHARS_MAX {
                output.truncate(len_before);
            } else {
                separator = " ";
            }
        }
    }
    while output.len() < CONTENT_CHARS_MIN {
        output.push(' ');
        writer.write(PostPart::Detail, rng, &mut output);
    }
    output
}

struct PostWriter {
    voice: Voice,
    focus: Focus,
    details: Deck,
}

impl PostWriter {
    fn write(&mut self, part: PostPart, rng: &mut Rng, output: &mut String) {
        let frame = match part {
            PostPart::Opening if self.focus == Focus::Item => pick(rng, frames::ITEM_OPENINGS),
            PostPart::Opening => pick(rng, frames::ACT_OPENINGS),
            PostPart::Detail => self.details.deal(rng, self.voice.topic().details),
            PostPart::Trouble => pick(rng, frames::TROUBLES),
            PostPart::Lesson => pick(rng, frames::LESSONS),
            PostPart::Tool => pick(rng, frames::TOOLS),
            PostPart::Tip => pick(rng, frames::TIPS),
            PostPart::Closing => pick(rng, frames::CLOSINGS),
        };
        self.voice.write(frame, rng, output);
    }
}

/// Writes the comments of one post, one after the other, and avoids saying the same thing twice.
#[derive(Debug, Clone)]
pub struct CommentWriter {
    voice: Voice,
    texts: Texts,
    reactions: Deck,
    replies: Deck,
    own_replies: Deck,
    questions: Deck,
    own_questions: Deck,
}

impl CommentWriter {
    pub fn new(scene: Scene, texts: Texts) -> Self {
        Self {
            voice: Voice::new(scene),
            texts,
            reactions: Deck::default(),
            replies: Deck::default(),
            own_replies: Deck::default(),
            questions: Deck::default(),
            own_questions: Deck::default(),
        }
    }

    pub fn comment(&mut self, rng: &mut Rng) -> String {
        let mut output = String::with_capacity(COMMENT_CHARS_RESERVED);
        for part in pick(rng, frames::COMMENT_OUTLINES) {
            self.append(*part, rng, &mut output);
        }
        let chars_min = match self.texts {
            Texts::Short => COMMENT_CHARS_MIN,
            Texts::Long => LONG_COMMENT_CHARS_MIN,
        };
        while output.len() < chars_min {
            self.append(CommentPart::Reply, rng, &mut output);
        }
        output
    }

    fn append(&mut self, part: CommentPart, rng: &mut Rng, output: &mut String) {
        let len_before = output.len();
        if len_before > 0 {
            output.push(' ');
        }
        let topic = self.voice.topic();
        let own_words = rng.below(2) == 0;
        let frame = match part {
            CommentPart::Reaction => self.reactions.deal(rng, frames::REACTIONS),
            CommentPart::Reply if own_words => self.own_replies.deal(rng, topic.replies),
            CommentPart::Reply => self.replies.deal(rng, frames::REPLIES),
            CommentPart::Question if own_words => self.own_questions.deal(rng, topic.questions),
            CommentPart::Question => self.questions.deal(rng, frames::QUESTIONS),
            CommentPart::Farewell => pick(rng, frames::FAREWELLS),
        };
        self.voice.write(frame, rng, output);
        if output.len() > COMMENT_CHARS_MAX {
            output.truncate(len_before);
        }
    }
}

fn pick<T: Copy>(rng: &mut Rng, list: &[T]) -> T {
    list[rng.below(list.len() as u32) as usize]
}
