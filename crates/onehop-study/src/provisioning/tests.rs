//! Plans of small databases: feasibility, throughput to provision, and the verdict between them.
