//! Extension of async-graphql for dynamic schemas: the path of failed fields, the response budget, and the
//! refusal of fields whose read models are being built.
//!
//! In 7.2 an error of a dynamic field has no path, so that null propagation would miss it. A null among the
//! elements of an interface fails there; here it is null. An object without any selected field is null there;
//! here it is empty.

use std::sync::Arc;

use async_graphql::extensions::{Extension, ExtensionContext, ExtensionFactory, NextResolve, ResolveInfo};
use async_graphql::indexmap::IndexMap;
use async_graphql::{PathSegment, QueryPathNode, QueryPathSegment, ServerError, ServerResult, Value};
use async_trait::async_trait;

use super::objects::NODE;
use super::scope::ServedScope;
use crate::graphql::errors::{self, Code};
use onehop_graphql_server::json_length::{key_length, leaf_length};

/// The message of async-graphql for a null among the elements of an interface, which 7.2 cannot resolve.
const NULL_ELEMENT: &str = "internal: invalid value for interface";

/// The scalar types of schemas.
const SCALARS: [&str; 7] = ["ID", "String", "Int", "Float", "Boolean", "DateTime", "Decimal"];

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
        let scope = ctx.data_opt::<Arc<ServedScope>>();
        let (node, return_type) = (info.path_node, info.return_type);
        let resolved = match refused(scope, &info) {
            Some(error) => Err(error),
            None => next.run(ctx, info).await,
        };
        let is_node_element = matches!(node.segment, QueryPathSegment::Index(_)) && return_type == NODE;
        let value = match resolved {
            Ok(Some(Value::Null)) if is_empty(scope, node, return_type) => {
                Some(Value::Object(IndexMap::new()))
            }
            Ok(value) => value,
            Err(error) if is_node_element && error.message.starts_with(NULL_ELEMENT) => None,
            Err(error) => return Err(failed(scope, error, node)),
        };
        let key = match node.segment {
            QueryPathSegment::Name(name) => key_length(name),
            QueryPathSegment::Index(_) => 0,
        };
        let bytes = key + value.as_ref().map_or(4, leaf_length);
        if let Some(scope) = scope {
            scope
                .context()
                .budget
                .take(bytes)
                .map_err(|refused| failed(Some(scope), refused.into(), node))?;
        }
        Ok(value)
    }
}

/// The refusal of a field whose read model is being built.
fn refused(scope: Option<&Arc<ServedScope>>, info: &ResolveInfo<'_>) -> Option<ServerError> {
    let is_building = scope?.services().in_building.has(info.parent_type, info.name);
    let message = format!("{}.{} is not complete yet: try again later.", info.parent_type, info.name);
    is_building.then(|| errors::error(Code::Unavailable, message).into_server_error(info.field.name.pos))
}

/// Whether a null is an object of which no field is selected, and none has failed.
fn is_empty(scope: Option<&Arc<ServedScope>>, node: &QueryPathNode<'_>, return_type: &str) -> bool {
    let Some(scope) = scope else { return false };
    let name = return_type.trim_matches(['[', ']', '!']);
    let is_enum = || scope.reads().model().model().enum_type(name).is_some();
    !SCALARS.contains(&name) && !is_enum() && !scope.has_failure_within(&path_of(node))
}

/// The error of a field with its path, known to the object of the field.
fn failed(scope: Option<&Arc<ServedScope>>, error: ServerError, node: &QueryPathNode<'_>) -> ServerError {
    if let (Some(scope), Some(object)) = (scope, node.parent) {
        scope.add_failure_within(path_of(object));
    }
    if error.path.is_empty() { error.with_path(path_of(node)) } else { error }
}

fn path_of(node: &QueryPathNode<'_>) -> Vec<PathSegment> {
    let mut path: Vec<PathSegment> = std::iter::successors(Some(node), |node| node.parent)
        .map(|node| match node.segment {
            QueryPathSegment::Name(name) => PathSegment::Field(name.to_owned()),
            QueryPathSegment::Index(index) => PathSegment::Index(index),
        })
        .collect();
    path.reverse();
    path
}
