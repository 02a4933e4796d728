//! The store port: a partitioned document store as Cosmos DB is one, and no more.
