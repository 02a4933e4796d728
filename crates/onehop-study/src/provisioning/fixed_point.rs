//! Fixed point iteration of physical partitions: throughput decides how many there are, and their number
//! decides the charge of queries across them. Pure.

/// Steps of the iteration, and physical partitions of a container that are considered: 100 million RU/s.
const STEPS_MAX: u32 = 1_000;
const PARTITIONS_MAX: u32 = 10_000;

/// A number of physical partitions that needs no more than itself, from `start` on. `required`: how many the
/// throughput of a number of partitions takes. Partitions do not merge by themselves, so the number never
/// falls. `None`: it grows without end.
pub(crate) fn fixed_point(start: u32, required: impl Fn(u32) -> f64) -> Option<u32> {
    let mut partitions = start.max(1);
    for _ in 0..STEPS_MAX {
        let wanted = required(partitions);
        if wanted <= f64::from(partitions) {
            return Some(partitions);
        }
        if wanted > f64::from(PARTITIONS_MAX) {
            return None;
        }
        // Whole, and not above the most that are considered.
        partitions = wanted.ceil() as u32;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_need_that_grows_slower_than_the_number_converges() {
        // Each partition adds a tenth of a partition: 9 + n / 10.
        assert_eq!(fixed_point(1, |partitions| 9.0 + f64::from(partitions) / 10.0), Some(10));
        assert_eq!(fixed_point(4, |_| 0.5), Some(4));
        assert_eq!(fixed_point(0, |_| 0.0), Some(1));
    }

    #[test]
    fn a_need_that_oscillates_ends_at_the_larger_number() {
        let required = |partitions| if partitions == 19 { 20.0 } else { 19.0 };
        assert_eq!(fixed_point(19, required), Some(20));
        assert_eq!(fixed_point(2, required), Some(20));
    }

    #[test]
    fn a_need_that_grows_as_fast_as_the_number_diverges() {
        assert_eq!(fixed_point(1, |partitions| f64::from(partitions) + 1.0), None);
        assert_eq!(fixed_point(1, |partitions| f64::from(partitions) * 1.2), None);
        assert_eq!(fixed_point(1, |_| f64::INFINITY), None);
    }

    proptest! {
        #[test]
        fn a_fixed_point_suffices_and_nothing_smaller_does(
            start in 1..200_u32,
            fixed in 0.0..500.0_f64,
            of_each in 0.0..0.95_f64,
        ) {
            let required = |partitions: u32| fixed + of_each * f64::from(partitions);
            let found = fixed_point(start, required).unwrap();
            prop_assert!(found >= start && required(found) <= f64::from(found));
            let smaller = (start..found).find(|number| required(*number) <= f64::from(*number));
            prop_assert_eq!(smaller, None);
        }

        #[test]
        fn a_need_of_a_whole_partition_from_each_never_converges(fixed in 0.01..500.0_f64, of_each in 1.0..3.0_f64) {
            prop_assert_eq!(fixed_point(1, |partitions| fixed + of_each * f64::from(partitions)), None);
        }
    }
}
