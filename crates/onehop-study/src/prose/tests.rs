//! The vocabulary keeps its rules, and every text its length and grammar, under every draw.

use super::vocabulary::TopicVocabulary;
use super::*;
use crate::rng::Stream;

const TEXTS: Stream = Stream(5);
const REPLIES: Stream = Stream(6);

/// Shorter ones look lost in a list.
const TITLE_CHARS_MIN: usize = 20;

fn for_every_topic(mut check: impl FnMut(&'static TopicVocabulary)) {
    for topic in &VOCABULARY.topics {
        check(topic);
    }
}

fn words_of(topic: &TopicVocabulary) -> Vec<&'static str> {
    let TopicVocabulary { tools, titles, details, lessons, tips, replies, questions, .. } = topic;
    let mut words = [tools, titles, details, lessons, tips, replies, questions].map(Vec::as_slice).concat();
    words.push(topic.subject);
    words.extend(topic.items.iter().flat_map(|item| [item.one, item.many]));
    words.extend(topic.acts.iter().flat_map(|act| [act.infinitive, act.gerund]));
    words.extend(topic.troubles.iter().flat_map(|trouble| [trouble.happened, trouble.helped]));
    words
}

fn frames_of_any_topic() -> Vec<&'static str> {
    let (texts, replies) = (&VOCABULARY.texts, &VOCABULARY.replies);
    let of_texts = [
        &texts.titles,
        &texts.item_openings,
        &texts.act_openings,
        &texts.troubles,
        &texts.lessons,
        &texts.tools,
        &texts.tips,
        &texts.closings,
    ];
    let of_replies = [&replies.reactions, &replies.replies, &replies.questions, &replies.farewells];
    of_texts.into_iter().chain(of_replies).flatten().copied().collect()
}

/// Enough scenes that every item, act, tool and season of every topic is in several. No frame holds both an
/// item and an act, so their pairs need not all be tried.
fn scenes() -> impl Iterator<Item = TextSubject> {
    (0..VOCABULARY.topics.len()).flat_map(|topic| {
        let words = &VOCABULARY.topics[topic];
        let rounds = 3 * words.items.len();
        (0..rounds).map(move |round| TextSubject {
            topic: topic as u8,
            item: (round % words.items.len()) as u8,
            act: (round % words.acts.len()) as u8,
            tool: (round % words.tools.len()) as u8,
            season: (round % VOCABULARY.words.seasons.len()) as u8,
        })
    })
}

fn assert_reads_well(text: &str) {
    assert!(text.is_ascii(), "{text}");
    assert!(!text.contains(['{', '}', '"', '\\', '\t']), "{text}");
    assert!(text.starts_with(|first: char| first.is_ascii_uppercase()), "{text}");
    for fault in ["  ", "..", " ,", " .", "?.", "!.", "\n\n\n", " \n", "\n ", ",,"] {
        assert!(!text.contains(fault), "{fault:?} in {text}");
    }
    let words: Vec<&str> = text.split([' ', '\n']).collect();
    for pair in words.windows(2) {
        assert!(pair[0] != pair[1] || pair[0].is_empty(), "{} twice in {text}", pair[0]);
        assert_article_fits(pair[0], pair[1], text);
    }
}

fn assert_article_fits(article: &str, word: &str, text: &str) {
    let vowel = word.starts_with(['a', 'e', 'i', 'o', 'u']);
    let sounds_otherwise =
        ["hour", "honest", "one", "uni", "use"].iter().any(|start| word.starts_with(start));
    match article.to_ascii_lowercase().as_str() {
        "a" => assert!(vowel == sounds_otherwise, "a {word} in {text}"),
        "an" => assert!(vowel != sounds_otherwise, "an {word} in {text}"),
        _ => (),
    }
}

#[test]
fn words_are_plain_and_lists_fit_a_deck_without_repeats() {
    for_every_topic(|topic| {
        let words = words_of(topic);
        for (index, word) in words.iter().enumerate() {
            assert!(word.is_ascii() && !word.contains(['"', '\\', '\n']), "{word}");
            assert_eq!(word.trim(), *word);
            assert!(!words[..index].contains(word), "{word} twice");
        }
        for len in
            [&topic.details, &topic.lessons, &topic.tips, &topic.replies, &topic.questions].map(Vec::len)
        {
            assert!((1..=deck::DECK_ENTRIES_MAX).contains(&len));
        }
    });
    assert!(VOCABULARY.replies.reactions.len() > 25, "no reaction twice below one text");
}

#[test]
fn sentences_end_and_clauses_do_not() {
    for_every_topic(|topic| {
        for sentence in topic.details.iter().chain(&topic.replies) {
            assert!(sentence.ends_with('.') && sentence.starts_with(char::is_uppercase), "{sentence}");
        }
        assert!(topic.questions.iter().all(|question| question.ends_with('?')));
        let troubles = topic.troubles.iter().flat_map(|trouble| [trouble.happened, trouble.helped]);
        for clause in topic.lessons.iter().chain(&topic.tips).copied().chain(troubles) {
            assert!(!clause.ends_with(['.', '?', '!']), "{clause}");
            assert!(clause.starts_with(char::is_lowercase) || clause.starts_with("I "), "{clause}");
        }
        assert!(topic.troubles.iter().all(|trouble| trouble.helped.starts_with("I ")));
        assert!(topic.items.iter().all(|item| item.one.starts_with("a ") || item.one.starts_with("an ")));
        assert!(topic.tools.iter().all(|tool| tool.starts_with("a ") || tool.starts_with("an ")));
    });
}

#[test]
fn every_frame_reads_well_in_every_scene() {
    let mut rng = StreamRng::new(1, TEXTS, 0);
    for scene in scenes() {
        let mut voice = SlotFiller::new(scene);
        for frame in frames_of_any_topic() {
            let mut output = String::new();
            voice.write(frame, &mut rng, &mut output);
            assert_reads_well(&output);
        }
    }
}

#[test]
fn every_title_has_20_to_80_characters_in_every_scene() {
    let mut rng = StreamRng::new(1, TEXTS, 0);
    for scene in scenes() {
        let mut voice = SlotFiller::new(scene);
        for frame in VOCABULARY.texts.titles.iter().chain(&voice.topic().titles) {
            let mut output = String::new();
            voice.write(frame, &mut rng, &mut output);
            assert_reads_well(&output);
            assert!((TITLE_CHARS_MIN..=TITLE_CHARS_MAX).contains(&output.len()), "{} {output}", output.len());
        }
    }
}

#[test]
fn bodies_have_200_to_600_characters_in_paragraphs() {
    let (mut paragraphs, mut chars, count) = (0, 0, 10_000);
    for index in 0..count {
        let mut rng = StreamRng::new(3, TEXTS, index);
        let scene = TextSubject::draw(&mut rng);
        let Text { title, body: text } = Text::write(scene, TextLength::Short, &mut rng);
        assert!(title.len() <= TITLE_CHARS_MAX, "{title}");
        assert!((BODY_CHARS_MIN..=BODY_CHARS_MAX).contains(&text.len()), "{} {text}", text.len());
        assert_reads_well(&text);
        assert!(text.ends_with(['.', '!', '?']));
        paragraphs += text.split("\n\n").count();
        chars += text.len();
    }
    assert!(paragraphs as u64 > 2 * count);
    assert!((320..=420).contains(&(chars as u64 / count)), "{}", chars as u64 / count);
}

#[test]
fn replies_have_50_to_600_characters() {
    for index in 0..2_000 {
        let mut rng = StreamRng::new(3, REPLIES, index);
        let mut writer = ReplyWriter::new(TextSubject::draw(&mut rng), TextLength::Short);
        for _ in 0..25 {
            let text = writer.reply(&mut rng);
            assert!((REPLY_CHARS_MIN..=REPLY_CHARS_MAX).contains(&text.len()), "{} {text}", text.len());
            assert_reads_well(&text);
        }
    }
}

/// The last part that is added may have its whole length.
const LONG_BODY_CHARS_MAX: usize = LONG_BODY_CHARS_MIN + 2 + BODY_CHARS_MAX;

#[test]
fn long_bodies_have_1600_characters_and_begin_like_short_ones() {
    let (mut chars, count) = (0, 2_000);
    for index in 0..count {
        let of = |length| {
            let mut rng = StreamRng::new(3, TEXTS, index);
            let scene = TextSubject::draw(&mut rng);
            Text::write(scene, length, &mut rng)
        };
        let [Text { title, body: short }, Text { title: long_title, body: long }] =
            [TextLength::Short, TextLength::Long].map(of);
        assert_eq!(title, long_title);
        assert!(long.starts_with(&short));
        assert!((LONG_BODY_CHARS_MIN..=LONG_BODY_CHARS_MAX).contains(&long.len()), "{}", long.len());
        assert_reads_well(&long);
        chars += long.len();
    }
    assert!((1_580..=1_620).contains(&(chars as u64 / count)), "{}", chars as u64 / count);
}

#[test]
fn long_replies_have_500_characters_in_the_mean() {
    let (mut chars, count) = (0, 500 * 25);
    for index in 0..500 {
        let mut rng = StreamRng::new(3, REPLIES, index);
        let mut writer = ReplyWriter::new(TextSubject::draw(&mut rng), TextLength::Long);
        for _ in 0..25 {
            let text = writer.reply(&mut rng);
            assert!((LONG_REPLY_CHARS_MIN..=REPLY_CHARS_MAX).contains(&text.len()), "{}", text.len());
            assert_reads_well(&text);
            chars += text.len();
        }
    }
    assert!((490..=510).contains(&(chars / count)), "{}", chars / count);
}
