//! The HTTP side: router, GraphQL over HTTP, health, static files.
