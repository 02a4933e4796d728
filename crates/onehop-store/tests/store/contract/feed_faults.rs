//! Continuations and ranges that are none of this store's.

use onehop_store::{Continuation, FaultKind, FeedRange, FeedRequest};

use crate::contract::harness::{Subject, THINGS, numbered};

async fn assert_refused(subject: &Subject, range: &FeedRange, continuation: Option<&Continuation>) {
    let request = FeedRequest { container: THINGS, range, continuation, types: None, limit: 10 };
    let fault = subject.store.read_change_feed(&request, &subject.ledger).await.expect_err("refused");
    assert_eq!(fault.kind, FaultKind::InvalidContinuation, "{fault}: {range:?} {continuation:?}");
    let fault = subject.store.pending_changes(&request, 10, &subject.ledger).await.expect_err("refused");
    assert_eq!(fault.kind, FaultKind::InvalidContinuation, "{fault}: {range:?} {continuation:?}");
}

pub async fn a_forged_continuation_is_refused(subject: Subject) {
    subject.create(numbered("h1", "a", 1)).await;
    let range = subject.range_of("h1").await;
    let real = subject.feed_page(&range, None, 10).await.continuation;
    for text in ["", "x", "0", "-1", "\0", "null", &real.0[1..], &format!("{}x", real.0)] {
        assert_refused(&subject, &range, Some(&Continuation(text.to_owned()))).await;
    }
}

pub async fn a_continuation_from_the_future_is_refused_and_hides_nothing(subject: Subject) {
    subject.create(numbered("h1", "a", 1)).await;
    let range = subject.range_of("h1").await;
    let real = subject.feed_page(&range, None, 10).await.continuation;
    let digits = real.0.find(|character: char| character.is_ascii_digit());
    let Some(prefix) = digits.map(|place| &real.0[..place]) else { return };
    for number in ["999999999", "18446744073709551615", "18446744073709551616"] {
        assert_refused(&subject, &range, Some(&Continuation(format!("{prefix}{number}")))).await;
    }
}

pub async fn a_forged_range_is_refused(subject: Subject) {
    subject.create(numbered("h1", "a", 1)).await;
    let real = subject.range_of("h1").await.0;
    for text in ["", "x", "-1", "70000", &format!("{real}9999"), &real[1..]] {
        assert_refused(&subject, &FeedRange(text.to_owned()), None).await;
    }
}
