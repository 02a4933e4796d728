//! Extension of async-graphql for dynamic schemas: the path of failed fields, the response budget, and the
//! refusal of fields whose read models are being built.
//!
//! In 7.2 an error of a dynamic field has no path, so that null propagation would miss it. A null among the
//! elements of an interface fails there; here it is null.

use std::sync::Arc;

use async_graphql::extensions::{Extension, ExtensionContext, ExtensionFactory, NextResolve, ResolveInfo};
use async_graphql::{PathSegment, QueryPathNode, QueryPathSegment, ServerError, ServerResult, Value};
use async_trait::async_trait;

use super::objects::NODE;
use super::scope::ServedScope;
use crate::graphql::errors::{self, Code};
use onehop_graphql_server::json_length::{key_length, leaf_length};

/// The message of async-graphql for a null among the elements of an interface, which 7.2 cannot resolve.
const NULL_ELEMENT: &str = "internal: invalid value for interface";

/// Adds the path to errors, takes the bytes of each field from the response budget, and refuses fields
/// whose read models are being built.
pub(super) struct FieldScopes;

impl ExtensionFactory for FieldScopes {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Self)
    }
}

#[async_trait]
impl Extension for FieldScopes {
    async fn resolve(
        &self,
        ctx: &ExtensionContext<'_>,
        info: ResolveInfo<'_>,
        next: NextResolve<'_>,
    ) -> ServerResult<Option<Value>> {
        let node = info.path_node;
        let key = match node.segment {
            QueryPathSegment::Name(name) => key_length(name),
            QueryPathSegment::Index(_) => 0,
        };
        let scope = ctx.data_opt::<Arc<ServedScope>>();
        if let Some(scope) = scope
            && scope.services().in_building.has(info.parent_type, info.name)
        {
            let message = format!("{}.{} is not complete yet: try again later.", info.parent_type, info.name);
            let error = errors::error(Code::Unavailable, message);
            return Err(with_path(error.into_server_error(info.field.name.pos), node));
        }
        let is_node_element = matches!(node.segment, QueryPathSegment::Index(_)) && info.return_type == NODE;
        let value = match next.run(ctx, info).await {
            Err(error) if is_node_element && error.message.starts_with(NULL_ELEMENT) => None,
            value => value.map_err(|error| with_path(error, node))?,
        };
        let bytes = key + value.as_ref().map_or(4, leaf_length);
        if let Some(scope) = scope {
            scope.context().budget.take(bytes).map_err(|refused| with_path(refused.into(), node))?;
        }
        Ok(value)
    }
}

/// The error with the path of its field, unless it has one.
fn with_path(error: ServerError, node: &QueryPathNode<'_>) -> ServerError {
    if !error.path.is_empty() {
        return error;
    }
    let mut path: Vec<PathSegment> = std::iter::successors(Some(node), |node| node.parent)
        .map(|node| match node.segment {
            QueryPathSegment::Name(name) => PathSegment::Field(name.to_owned()),
            QueryPathSegment::Index(index) => PathSegment::Index(index),
        })
        .collect();
    path.reverse();
    error.with_path(path)
}
