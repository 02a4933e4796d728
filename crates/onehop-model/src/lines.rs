//! Lines of a model file: where its types, fields and containers are, for findings about a model that was
//! read.

use crate::reports::Reports;
use crate::syntax::{At, Body, Definition, Span, ValueSyntax, parse};

/// The line of a part of a model, from 1: of a type (`Post`), a field (`Post.comments`, `Query.feed`) or a
/// container (`container posts`). `None` where the text has no such part.
#[must_use]
pub fn line_of(text: &str, place: &str) -> Option<usize> {
    let definitions = parse(text, &Reports::default());
    let span = match (place.strip_prefix("container "), place.split_once('.')) {
        (Some(container), _) => container_of(&definitions, container),
        (None, Some((ty, field))) => field_of(&definitions, ty, field),
        (None, None) => definitions.iter().find_map(|definition| name_of(definition, place)),
    };
    let before = text.get(..span?.start)?;
    Some(before.matches('\n').count() + 1)
}

fn name_of(definition: &Definition, name: &str) -> Option<Span> {
    definition.name.as_ref().filter(|own| own.value == name).map(|own| own.span)
}

fn field_of(definitions: &[Definition], ty: &str, field: &str) -> Option<Span> {
    definitions.iter().filter(|definition| name_of(definition, ty).is_some()).find_map(|definition| {
        match &definition.body {
            Body::Object { fields, .. } => {
                fields.iter().find(|own| own.name.value == field).map(|own| own.name.span)
            }
            _ => None,
        }
    })
}

fn container_of(definitions: &[Definition], container: &str) -> Option<Span> {
    let directives = definitions.iter().flat_map(|definition| &definition.directives);
    directives.filter(|directive| directive.name.value == "container").find_map(|directive| {
        let is_named = |(name, value): &(At<String>, At<ValueSyntax>)| {
            name.value == "name" && value.value == ValueSyntax::String(container.to_owned())
        };
        directive.arguments.iter().any(is_named).then_some(directive.name.span)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_model_are_found_with_their_lines() {
        let text = "# A comment.\nextend schema\n  @model(name: \"m\")\n  @container(name: \"posts\", key: \"/id\")\n\n\
                    type Post @item(container: \"posts\") {\n  id: ID!\n  title: String!\n}\n\
                    type Query { post(id: ID!): Post }\n";
        let found = ["container posts", "Post", "Post.title", "Query.post"].map(|place| line_of(text, place));
        assert_eq!(found, [Some(4), Some(6), Some(8), Some(10)]);
        assert_eq!(["container x", "Other", "Post.other"].map(|place| line_of(text, place)), [None; 3]);
    }
}
