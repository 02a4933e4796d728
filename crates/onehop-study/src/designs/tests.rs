//! Tests of stored items.
