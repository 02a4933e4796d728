//! The GraphQL schema. It sees commands and the reads trait, never the store.
