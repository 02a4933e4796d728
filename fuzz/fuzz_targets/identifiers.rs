//! Global ids, cursors, positions, usernames and `traceparent`: an accepted text equals the text that the
//! program would give out.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onehop::accounts::Username;
use onehop::blog::reads::cursor::{COMMENTS, FEED, LIKES, POSTS_OF_USER};
use onehop::domain::cursor;
use onehop_change_feed::Position;
use onehop::graphql::GlobalId;
use onehop_runtime::trace_context::{RemoteParent, SpanContext};
use uuid::Uuid;

/// The characters that an item's id may have.
const NORMALIZED_CHARS_MAX: usize = 90;

fuzz_target!(|text: &str| {
    if let Ok(id) = GlobalId::decode(text) {
        assert_eq!(id.encode(), text);
    }
    for list in [FEED.single(), COMMENTS.single(), LIKES.single(), POSTS_OF_USER.of(Uuid::max())] {
        if let Ok(keyset) = cursor::decode(list, text) {
            let id = Uuid::parse_str(&keyset.id).expect("the id of an item");
            assert_eq!(cursor::encode(list, &keyset.order_value, id), text);
        }
    }
    if let Ok(position) = Position::parse(text.as_bytes()) {
        assert_eq!(Position::parse(&position.encode()).as_ref(), Ok(&position));
    }
    if let Some(RemoteParent { span: SpanContext { trace_id, span_id }, is_sampled }) =
        RemoteParent::parse(text)
    {
        let ids = format!("{trace_id:032x}-{span_id:016x}");
        assert!(trace_id != 0 && span_id != 0 && text[3..].starts_with(&ids), "{ids}");
        let again = RemoteParent::parse(&format!("00-{ids}-0{}", u8::from(is_sampled)));
        assert_eq!(again, RemoteParent::parse(text));
    }
    if let Ok(username) = Username::parse(text) {
        assert_eq!(Username::parse(username.as_str()).as_ref(), Ok(&username));
        let key = username.normalized().as_str();
        assert!(
            key.chars().count() <= NORMALIZED_CHARS_MAX && !key.contains(['/', '\\', '?', '#']),
            "{key:?}"
        );
    }
});
