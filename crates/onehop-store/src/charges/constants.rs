//! Constants of the request charge model: their names, units and meaning. A calibration gives each of them a
//! value.

/// One constant of the request charge model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Constant {
    /// RU of one unit of a write.
    WriteUnit,
    /// Units of a create or a delete, without its index terms and its size.
    InsertUnits,
    /// Units of a replace, without its changed index terms and its size.
    ReplaceUnits,
    /// The multiple of an item's size that is charged at a replace, beside a create.
    ReplaceSizeFactor,
    /// Units of an index term whose value is `null`, `true` or `false`; every other term is one unit.
    LiteralUnits,
    /// Units of the entry of one item in one composite index.
    CompositeUnits,
    /// Units that a changed index term costs less where the same batch wrote it.
    BatchRewriteUnits,
    /// RU of one operation of a patch, beside the replace.
    PatchOperation,
    /// RU of one unique key at an insertion.
    UniqueKey,
    /// RU of a refused write: 400, 404 and 412.
    Refusal,
    /// RU of a create that is refused because the item exists (409), without its properties.
    Conflict,
    /// RU of one property of an item at such a refusal.
    ConflictProperty,
    /// RU that a broken unique key adds to such a refusal.
    ConflictUniqueKey,
    /// RU of a stored procedure, beside its operations.
    StoredProcedure,
    /// The charge factor of reads under strong and bounded staleness consistency.
    QuorumFactor,
    /// RU of a query with an indexed filter, for each physical partition.
    QueryFiltered,
    /// RU of a query without a filter, for each physical partition.
    QueryUnfiltered,
    /// RU of each item that a query with an indexed filter returns.
    QueryItemFiltered,
    /// RU of each item that a query without a filter returns.
    QueryItemUnfiltered,
    /// RU of each KiB that a query returns.
    QueryKilobyte,
    /// RU of each further condition that an index serves.
    QueryCondition,
    /// RU of each value of an `IN` list.
    QueryInValue,
    /// RU of each function of a query, for each of few items.
    QueryFunction,
    /// RU of each item whose text a `LIKE`, or a function of the filter, compares.
    QueryComparedItem,
    /// RU of each item of an ordered answer.
    QueryOrderedItem,
    /// RU of each row of a `JOIN` over an array.
    QueryJoinRow,
    /// RU of each KiB of items that a query loads because no index serves its filter.
    QueryScannedKilobyte,
    /// RU of a COUNT, for each physical partition.
    Count,
    /// RU of each item that a COUNT counts.
    CountItem,
    /// RU of a page of the change feed, also where it is empty.
    FeedPage,
    /// RU of each change of such a page.
    FeedItem,
    /// RU of each KiB of such a page.
    FeedKilobyte,
}

impl Constant {
    /// All constants, in the order of the documents.
    pub const ALL: [Self; 32] = [
        Self::WriteUnit,
        Self::InsertUnits,
        Self::ReplaceUnits,
        Self::ReplaceSizeFactor,
        Self::LiteralUnits,
        Self::CompositeUnits,
        Self::BatchRewriteUnits,
        Self::PatchOperation,
        Self::UniqueKey,
        Self::Refusal,
        Self::Conflict,
        Self::ConflictProperty,
        Self::ConflictUniqueKey,
        Self::StoredProcedure,
        Self::QuorumFactor,
        Self::QueryFiltered,
        Self::QueryUnfiltered,
        Self::QueryItemFiltered,
        Self::QueryItemUnfiltered,
        Self::QueryKilobyte,
        Self::QueryCondition,
        Self::QueryInValue,
        Self::QueryFunction,
        Self::QueryComparedItem,
        Self::QueryOrderedItem,
        Self::QueryJoinRow,
        Self::QueryScannedKilobyte,
        Self::Count,
        Self::CountItem,
        Self::FeedPage,
        Self::FeedItem,
        Self::FeedKilobyte,
    ];

    /// Its name in a calibration file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::WriteUnit => "writeUnit",
            Self::InsertUnits => "insertUnits",
            Self::ReplaceUnits => "replaceUnits",
            Self::ReplaceSizeFactor => "replaceSizeFactor",
            Self::LiteralUnits => "literalUnits",
            Self::CompositeUnits => "compositeUnits",
            Self::BatchRewriteUnits => "batchRewriteUnits",
            Self::PatchOperation => "patchOperation",
            Self::UniqueKey => "uniqueKey",
            Self::Refusal => "refusal",
            Self::Conflict => "conflict",
            Self::ConflictProperty => "conflictProperty",
            Self::ConflictUniqueKey => "conflictUniqueKey",
            Self::StoredProcedure => "storedProcedure",
            Self::QuorumFactor => "quorumFactor",
            Self::QueryFiltered => "queryFiltered",
            Self::QueryUnfiltered => "queryUnfiltered",
            Self::QueryItemFiltered => "queryItemFiltered",
            Self::QueryItemUnfiltered => "queryItemUnfiltered",
            Self::QueryKilobyte => "queryKilobyte",
            Self::QueryCondition => "queryCondition",
            Self::QueryInValue => "queryInValue",
            Self::QueryFunction => "queryFunction",
            Self::QueryComparedItem => "queryComparedItem",
            Self::QueryOrderedItem => "queryOrderedItem",
            Self::QueryJoinRow => "queryJoinRow",
            Self::QueryScannedKilobyte => "queryScannedKilobyte",
            Self::Count => "count",
            Self::CountItem => "countItem",
            Self::FeedPage => "feedPage",
            Self::FeedItem => "feedItem",
            Self::FeedKilobyte => "feedKilobyte",
        }
    }

    /// The unit of its value.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::InsertUnits
            | Self::ReplaceUnits
            | Self::LiteralUnits
            | Self::CompositeUnits
            | Self::BatchRewriteUnits => "units",
            Self::QuorumFactor | Self::ReplaceSizeFactor => "times",
            _ => "RU",
        }
    }

    /// The constant of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|constant| constant.name() == name)
    }
}
