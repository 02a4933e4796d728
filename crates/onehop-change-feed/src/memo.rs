//! Answers that a projection may hear again without a read, until it writes what would change them.
//!
//! A memo that was being read while a write happened is answered once and not kept: what is kept was read wholly
//! after the last write that forgot memos. Writes by other processes are not seen: where there are any, memos are
//! forgotten before each page, so that none is older than the page in hand.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::request::{Answer, ReadRequest};

#[derive(Debug, Default)]
pub(super) struct Memos(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    generation: u64,
    answers: HashMap<&'static str, (ReadRequest, Answer)>,
}

/// When a read for a memo began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Generation(u64);

impl Memos {
    /// The kept answer to the same read.
    pub(super) fn get(&self, name: &'static str, read: &ReadRequest) -> Option<Answer> {
        let kept = self.lock();
        let (asked, answer) = kept.answers.get(name)?;
        (asked == read).then(|| answer.clone())
    }

    /// Begins a read; its answer is kept only if nothing was forgotten meanwhile.
    pub(super) fn begin(&self) -> Generation {
        Generation(self.lock().generation)
    }

    /// Keeps an answer whose read began at this generation.
    pub(super) fn keep(&self, begun: Generation, name: &'static str, read: &ReadRequest, answer: Answer) {
        let mut kept = self.lock();
        if kept.generation == begun.0 {
            kept.answers.insert(name, (read.clone(), answer));
        }
    }

    /// Forgets everything.
    pub(super) fn forget(&self) {
        let mut kept = self.lock();
        kept.generation += 1;
        kept.answers.clear();
    }

    /// Forgets now and when the guard is dropped, however the writes in between end.
    pub(super) fn forget_around(&self) -> ForgetOnDrop<'_> {
        self.forget();
        ForgetOnDrop(self)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct ForgetOnDrop<'a>(&'a Memos);

impl Drop for ForgetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onehop_store::ContainerName;

    #[test]
    fn an_answer_whose_read_began_before_a_write_is_not_kept() {
        let memos = Memos::default();
        let read = ReadRequest::Newest {
            container: ContainerName("posts"),
            item_type: "post",
            after: None,
            limit: 1,
        };
        let begun = memos.begin();
        drop(memos.forget_around());
        memos.keep(begun, "floor", &read, Answer::Count(1));
        assert!(memos.get("floor", &read).is_none());
        memos.keep(memos.begin(), "floor", &read, Answer::Count(2));
        assert!(matches!(memos.get("floor", &read), Some(Answer::Count(2))));
    }

    #[test]
    fn an_answer_to_another_read_is_not_given() {
        let memos = Memos::default();
        let newest = |limit| ReadRequest::Newest {
            container: ContainerName("posts"),
            item_type: "post",
            after: None,
            limit,
        };
        memos.keep(memos.begin(), "floor", &newest(1), Answer::Count(1));
        assert!(memos.get("floor", &newest(2)).is_none());
    }
}
