//! Mutation testing by hand: bugs that are planted in the program, to measure whether its simulation finds
//! them.
//!
//! [`planted!`](crate::planted!) is the constant `false` unless the program is built with `--cfg planted`.
//! One such build holds every planted bug, and at most one of them is selected at run time for each thread.

use std::cell::{Cell, RefCell};

/// The environment variable with the bug that is selected in a thread until [`select`] is called there.
pub const VARIABLE: &str = "ONEHOP_PLANTED";

/// Whether the program was built with `--cfg planted`. Without it, a selection has no effect.
pub const IS_BUILT: bool = cfg!(planted);

thread_local! {
    static IS_SMALL: Cell<bool> = const { Cell::new(false) };
    static SELECTED: RefCell<Option<String>> = RefCell::new(std::env::var(VARIABLE).ok());
    static REACHED: Cell<u64> = const { Cell::new(0) };
}

/// Whether a bug is selected in this thread; the constant `false` without `--cfg planted`.
///
/// ```
/// use onehop_runtime::{planted, planted::IS_BUILT};
///
/// planted::select(Some("missing-fsync"));
/// assert_eq!(planted!("missing-fsync"), IS_BUILT);
/// assert!(!planted!("torn-batch"));
/// ```
#[cfg(not(planted))]
#[macro_export]
macro_rules! planted {
    ($name:literal) => {
        false
    };
}

/// Whether a bug is selected in this thread; the constant `false` without `--cfg planted`.
#[cfg(planted)]
#[macro_export]
macro_rules! planted {
    ($name:literal) => {
        $crate::planted::is_selected($name)
    };
}

/// A size or a limit of the program: its value, or the small value in a thread with small sizes.
///
/// Short runs of a simulation reach small limits. Without `--cfg planted` it is always the first value.
///
/// ```
/// use onehop_runtime::planted;
///
/// assert_eq!(planted::size(100, 3), 100);
/// planted::make_sizes_small(true);
/// assert_eq!(planted::size(100, 3), if planted::IS_BUILT { 3 } else { 100 });
/// ```
#[must_use]
#[inline]
pub fn size(value: usize, small: usize) -> usize {
    if IS_BUILT && IS_SMALL.get() { small } else { value }
}

/// Chooses the sizes of this thread.
pub fn make_sizes_small(are_small: bool) {
    IS_SMALL.set(are_small);
}

/// Selects the planted bug of this thread, or none of them, and sets [`reached`] to 0.
pub fn select(name: Option<&str>) {
    SELECTED.with_borrow_mut(|selected| *selected = name.map(str::to_owned));
    REACHED.set(0);
}

/// Whether a planted bug is the selected one of this thread. Code asks by the macro
/// [`planted!`](crate::planted!).
#[must_use]
pub fn is_selected(name: &str) -> bool {
    let is_selected = SELECTED.with_borrow(|selected| selected.as_deref() == Some(name));
    if is_selected {
        REACHED.set(REACHED.get() + 1);
    }
    is_selected
}

/// The number of times that this thread has reached the selected bug: a bug that was never reached cannot be
/// found.
#[must_use]
pub fn reached() -> u64 {
    REACHED.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_bug_alone_is_on_and_counted() {
        select(Some("one"));
        assert_eq!([is_selected("one"), is_selected("two"), is_selected("one")], [true, false, true]);
        assert_eq!(reached(), 2);
        select(None);
        assert_eq!((is_selected("one"), reached()), (false, 0));
    }

    #[test]
    fn a_selection_is_of_its_thread_alone() {
        select(Some("one"));
        let is_elsewhere = std::thread::spawn(|| is_selected("one")).join().expect("the thread ends");
        assert!(!is_elsewhere);
    }

    #[test]
    fn the_macro_is_false_unless_bugs_are_built_in() {
        select(Some("one"));
        assert_eq!([planted!("one"), planted!("two")], [IS_BUILT, false]);
    }
}
