//! Tests of design studies.
