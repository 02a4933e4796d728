//! Limits of a model: sizes that the reader refuses to exceed, so that no file exhausts memory or the stack.

/// Largest file, in bytes.
pub const FILE_BYTES_MAX: usize = 1 << 20;

/// Deepest nesting of brackets, in levels.
pub const NESTING_MAX: usize = 32;

/// Most types and enums of a model.
pub const TYPES_MAX: usize = 500;

/// Most fields of a type, values of an enum, or containers of a model.
pub const MEMBERS_MAX: usize = 500;

/// Most errors that one reading reports.
pub const ERRORS_MAX: usize = 100;

/// Most paths of a hierarchical partition key (Azure Cosmos DB).
pub const KEY_PATHS_MAX: usize = 3;

/// Most paths of a composite index (Azure Cosmos DB).
pub const COMPOSITE_PATHS_MAX: usize = 8;

/// Longest name of a container, in characters (Azure Cosmos DB).
pub const CONTAINER_NAME_MAX: usize = 255;

/// Largest page of a list, in items.
pub const PAGE_MAX: i64 = 1_000;

/// Most entries that `keep` can hold in one logical partition.
pub const KEEP_MAX: i64 = 10_000;

/// Longest text or array that `@length` can allow, in characters or elements.
pub const LENGTH_MAX: i64 = 2_000_000;

/// Longest time to live, in seconds (Azure Cosmos DB).
pub const TTL_MAX: i64 = i32::MAX as i64;

/// Most operations of a request document.
pub const REQUESTS_MAX: usize = 200;
