//! Data sets and the comparison of data models.
