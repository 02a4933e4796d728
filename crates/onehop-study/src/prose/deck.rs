//! Sampling without replacement: deals entries of a list and repeats no entry before all have been dealt, so
//! that neighbouring texts do not share sentences.

use crate::rng::StreamRng;

/// Lists a deck deals from are no longer than this.
pub(super) const DECK_ENTRIES_MAX: usize = 64;

/// The dealt entries of one list, a bit each.
#[derive(Debug, Clone, Default)]
pub(super) struct Deck {
    dealt: u64,
}

impl Deck {
    pub fn deal<T: Copy>(&mut self, rng: &mut StreamRng, list: &[T]) -> T {
        assert!((1..=DECK_ENTRIES_MAX).contains(&list.len()));
        if self.dealt.count_ones() as usize >= list.len() {
            self.dealt = 0;
        }
        let mut index = rng.below(list.len() as u32) as usize;
        while self.dealt >> index & 1 == 1 {
            index = (index + 1) % list.len();
        }
        self.dealt |= 1 << index;
        list[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn a_deck_deals_everything_once_before_it_starts_over() {
        let list: Vec<u32> = (0..DECK_ENTRIES_MAX as u32).collect();
        let (mut deck, mut rng) = (Deck::default(), StreamRng::new(1, Stream(5), 0));
        for _ in 0..3 {
            let mut dealt: Vec<u32> = list.iter().map(|_| deck.deal(&mut rng, &list)).collect();
            dealt.sort_unstable();
            assert_eq!(dealt, list);
        }
    }
}
