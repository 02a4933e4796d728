//! The blogging domain: commands, projections and reads over the store port.
