//! The change feed processor: leases, projections, dead letters and lag. It knows no domain.
