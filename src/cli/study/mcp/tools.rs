//! Tools of the MCP server: names, descriptions, and arguments with their JSON Schemas.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StudyTool {
    Describe,
    Plan,
    Estimate,
    Compare,
    Keys,
}

/// Arguments of `describe`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DescribeArguments {
    /// Path of the study within the served directory. Without it: the served directory, or the list of its
    /// studies.
    pub study: Option<String>,
}

/// Arguments of `plan`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PlanArguments {
    /// Path of the study within the served directory, where it has several.
    pub study: Option<String>,
    /// Name of one request. Without it: all.
    pub request: Option<String>,
    /// Name of one design. Without it: all.
    pub design: Option<String>,
}

/// Arguments of `compare`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CompareArguments {
    /// Path of the study within the served directory, where it has several.
    pub study: Option<String>,
    /// Data scale: the multiple of the data of the files. Without it: `scale` of study.toml.
    #[schemars(range(min = 0.001, max = 1e9))]
    pub scale: Option<f64>,
    /// `summary` (the default): verdict, designs and charges. `full`: the whole report of `study run`.
    #[serde(default)]
    pub detail: Detail,
}

/// Size of a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum Detail {
    #[default]
    Summary,
    Full,
}

/// Arguments of `keys`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct KeysArguments {
    /// Path of the study within the served directory, where it has several.
    pub study: Option<String>,
    /// Data scale: the multiple of the data of the files. Without it: `scale` of study.toml.
    #[schemars(range(min = 0.001, max = 1e9))]
    pub scale: Option<f64>,
    /// Name of one item type. Without it: all types with data.
    #[serde(rename = "type")]
    pub item_type: Option<String>,
}

/// Arguments of `estimate`: one operation on Azure Cosmos DB.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct EstimateArguments {
    /// The operation.
    pub operation: EstimatedOperation,
    /// The item after the operation, or the list of the items of a batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<Value>,
    /// The item before a replace or a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_before: Option<Value>,
    /// Bytes of the item's JSON, where `item` is absent; of a query, of each returned item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_bytes: Option<f64>,
    /// Paths that a replace or a patch changes, where `itemBefore` is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_paths: Option<f64>,
    /// The indexing policy as the service's JSON, or in words: `default`, `none`, `/a/* only`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexing: Option<Value>,
    /// The SQL text of a query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sql: Option<String>,
    /// Items that a query or a page of the change feed returns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<f64>,
    /// Whether an index serves the filter of a query without `sql`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filtered: Option<bool>,
    /// Physical partitions that the operation asks. Without it: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partitions: Option<f64>,
    /// The consistency level, such as `session` or `strong`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consistency: Option<String>,
}

/// An operation with an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum EstimatedOperation {
    Create,
    Upsert,
    Replace,
    Patch,
    Delete,
    Batch,
    Read,
    ReadMany,
    Query,
    Count,
    ChangeFeed,
}

impl StudyTool {
    pub const ALL: [Self; 5] = [Self::Describe, Self::Plan, Self::Estimate, Self::Compare, Self::Keys];

    pub fn name(self) -> &'static str {
        match self {
            Self::Describe => "describe",
            Self::Plan => "plan",
            Self::Estimate => "estimate",
            Self::Compare => "compare",
            Self::Keys => "keys",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Describe => {
                "Describe a study: its designs with containers and partition keys, the data by type, and the \
                 requests with their rates. Without a study in a directory of several: their list."
            }
            Self::Plan => {
                "Plan the requests of a study under each design: the operations on Azure Cosmos DB with container, \
                 scope, items, estimated request units (RU) and their error, with one physical partition."
            }
            Self::Estimate => {
                "Estimate the request charge (RU) of one operation on Azure Cosmos DB, as the sum of its parts, with \
                 the indexed paths and the error. It needs no study."
            }
            Self::Compare => {
                "Compare the designs of a study: feasibility, throughput, monthly bills, the verdict as an interval, \
                 and the RU of each request. It reads all data once."
            }
            Self::Keys => {
                "Grade each field by which a request finds something, and pairs of them as hierarchical keys, as \
                 partition key: good, fair or bad with reasons."
            }
        }
    }

    /// The tool as clients list it. It changes nothing.
    pub fn definition(self) -> Tool {
        let tool = Tool::new(self.name(), self.description(), Arc::new(JsonObject::new()));
        let tool = match self {
            Self::Describe => tool.with_input_schema::<DescribeArguments>(),
            Self::Plan => tool.with_input_schema::<PlanArguments>(),
            Self::Estimate => tool.with_input_schema::<EstimateArguments>(),
            Self::Compare => tool.with_input_schema::<CompareArguments>(),
            Self::Keys => tool.with_input_schema::<KeysArguments>(),
        };
        tool.with_annotations(ToolAnnotations::new().read_only(true).open_world(false))
    }
}
