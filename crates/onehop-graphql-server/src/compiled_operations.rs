//! Compiled operations: the service's compiled form of each operation of a document, kept with the parsed
//! document.
//!
//! The key is the operation, and never the text alone: one document may hold several operations. Knows
//! nothing of the compiled form.

use std::any::Any;
use std::fmt;
use std::sync::OnceLock;

/// One place for each operation of a document.
pub(crate) struct CompiledOperations(Vec<OnceLock<Box<dyn Any + Send + Sync>>>);

impl CompiledOperations {
    /// Empty places for this many operations.
    pub(crate) fn new(operations: usize) -> Self {
        Self((0..operations).map(|_| OnceLock::new()).collect())
    }

    /// The compiled form of the operation at a place, compiled now if it is missing. `None` for a place
    /// without an operation, or for a compiled form of another type.
    pub(crate) fn get<T: Send + Sync + 'static>(
        &self,
        place: usize,
        compile: impl FnOnce() -> T,
    ) -> Option<&T> {
        let value: &(dyn Any + Send + Sync) = &**self.0.get(place)?.get_or_init(|| Box::new(compile()));
        value.downcast_ref()
    }
}

impl fmt::Debug for CompiledOperations {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let compiled = self.0.iter().filter(|place| place.get().is_some()).count();
        formatter.debug_struct("CompiledOperations").field("compiled", &compiled).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_of_a_document_is_compiled_once() {
        let places = CompiledOperations::new(2);
        assert_eq!(places.get(0, || 1), Some(&1));
        assert_eq!(places.get(1, || 2), Some(&2));
        assert_eq!(places.get(0, || -> i32 { panic!("compiled twice") }), Some(&1));
        assert_eq!(places.get(0, || "another type"), None);
        assert_eq!(places.get(2, || 3), None);
    }
}
