//! Conversion of the parser's tree into the syntax tree: owned definitions with positions.

use apollo_parser::cst::{self, CstNode};
use apollo_parser::{SyntaxKind, SyntaxNode};

use super::tree::{
    ArgumentSyntax, At, Body, Definition, DirectiveUse, EnumValueSyntax, FieldSyntax, Span, TypeSyntax,
    ValueSyntax,
};
use crate::problem::Problem;
use crate::reports::Reports;

/// The definitions of a document that starts at `offset` of the file. The parser found no error in it.
pub(super) fn convert(document: &cst::Document, offset: usize, reports: &Reports) -> Vec<Definition> {
    let converter = Converter { offset, reports };
    document.definitions().map(|definition| converter.definition(definition)).collect()
}

struct Converter<'a> {
    offset: usize,
    reports: &'a Reports,
}

impl Converter<'_> {
    /// The range of a node without the spaces and comments at its ends.
    fn span(&self, node: &SyntaxNode) -> Span {
        let is_trivia =
            |kind| matches!(kind, SyntaxKind::WHITESPACE | SyntaxKind::COMMENT | SyntaxKind::COMMA);
        let range = node.text_range();
        let mut tokens = node.descendants_with_tokens().filter_map(|element| element.into_token());
        let first = tokens.find(|token| !is_trivia(token.kind()));
        let mut last = node.last_token();
        while let Some(token) = last.clone().filter(|token| is_trivia(token.kind())) {
            last = token.prev_token();
        }
        let start = first.map_or(range.start(), |token| token.text_range().start());
        let end = last.map_or(range.end(), |token| token.text_range().end());
        Span { start: self.offset + usize::from(start), end: self.offset + usize::from(end) }
    }

    /// Reports a form that the parser accepts although a part of it is missing.
    fn incomplete(&self, node: &SyntaxNode, expected: &str) {
        let found = node.text().to_string().trim().chars().take(30).collect::<String>();
        let problem = Problem::Syntax { expected: expected.to_owned(), found: format!("`{found}`") };
        self.reports.add(self.span(node), problem);
    }

    fn name(&self, name: Option<cst::Name>) -> Option<At<String>> {
        let name = name?;
        Some(At::new(name.text().to_string(), self.span(name.syntax())))
    }

    fn description(&self, description: Option<cst::Description>) -> Option<String> {
        let text = String::from(description?.string_value()?);
        (!text.trim().is_empty()).then_some(text)
    }

    fn definition(&self, definition: cst::Definition) -> Definition {
        use cst::Definition as Cst;
        let name = self.name(definition.name());
        let span = self.span(definition.syntax());
        let (description, directives, body) = match &definition {
            Cst::SchemaExtension(it) => (None, it.directives(), Body::SchemaExtension),
            Cst::ObjectTypeDefinition(it) => {
                let fields = it.fields_definition().into_iter().flat_map(|fields| fields.field_definitions());
                let body = Body::Object {
                    implements: it.implements_interfaces().map(|node| self.span(node.syntax())),
                    fields: fields.filter_map(|field| self.field(&field)).collect(),
                };
                (it.description(), it.directives(), body)
            }
            Cst::EnumTypeDefinition(it) => {
                let values = it
                    .enum_values_definition()
                    .into_iter()
                    .flat_map(|values| values.enum_value_definitions());
                let values = values.filter_map(|value| self.enum_value(&value)).collect();
                (it.description(), it.directives(), Body::Enum { values })
            }
            Cst::ScalarTypeDefinition(it) => (it.description(), it.directives(), Body::Scalar),
            Cst::DirectiveDefinition(it) => (it.description(), None, self.directive_definition(it)),
            _ => (None, None, Body::Foreign(keyword(&definition))),
        };
        let description = self.description(description);
        Definition { span, description, name, directives: self.directives(directives), body }
    }

    fn directive_definition(&self, definition: &cst::DirectiveDefinition) -> Body {
        let locations = definition.directive_locations().into_iter().flat_map(|it| it.directive_locations());
        Body::Directive {
            arguments: self.arguments_definition(definition.arguments_definition()),
            repeatable: definition.repeatable_token().is_some(),
            locations: locations.filter_map(|it| it.text()).map(|text| text.to_string()).collect(),
        }
    }

    fn field(&self, field: &cst::FieldDefinition) -> Option<FieldSyntax> {
        Some(FieldSyntax {
            name: self.name(field.name())?,
            description: self.description(field.description()),
            arguments: self.arguments_definition(field.arguments_definition()),
            ty: self.ty(&field.ty()?)?,
            type_name: self.type_name(&field.ty()?),
            directives: self.directives(field.directives()),
        })
    }

    fn enum_value(&self, value: &cst::EnumValueDefinition) -> Option<EnumValueSyntax> {
        Some(EnumValueSyntax {
            name: self.name(value.enum_value()?.name())?,
            description: self.description(value.description()),
            directives: self.directives(value.directives()),
        })
    }

    fn arguments_definition(&self, arguments: Option<cst::ArgumentsDefinition>) -> Vec<ArgumentSyntax> {
        let definitions = arguments.into_iter().flat_map(|it| it.input_value_definitions());
        let convert = |it: cst::InputValueDefinition| {
            Some(ArgumentSyntax {
                name: self.name(it.name())?,
                ty: self.ty(&it.ty()?)?,
                default: it.default_value().and_then(|it| it.value()).and_then(|value| self.value(&value)),
            })
        };
        definitions.filter_map(convert).collect()
    }

    fn ty(&self, ty: &cst::Type) -> Option<At<TypeSyntax>> {
        let span = self.span(ty.syntax());
        Some(At::new(self.type_syntax(ty)?, span))
    }

    /// The position of the name within a type.
    fn type_name(&self, ty: &cst::Type) -> Span {
        let named = ty.syntax().descendants().find(|node| node.kind() == SyntaxKind::NAMED_TYPE);
        self.span(&named.unwrap_or_else(|| ty.syntax().clone()))
    }

    fn type_syntax(&self, ty: &cst::Type) -> Option<TypeSyntax> {
        match ty {
            cst::Type::NamedType(named) => Some(TypeSyntax::Named(named.name()?.text().to_string())),
            cst::Type::ListType(list) => Some(TypeSyntax::List(Box::new(self.type_syntax(&list.ty()?)?))),
            cst::Type::NonNullType(non_null) => {
                let inner = match (non_null.named_type(), non_null.list_type()) {
                    (Some(named), _) => cst::Type::NamedType(named),
                    (None, list) => cst::Type::ListType(list?),
                };
                Some(TypeSyntax::NonNull(Box::new(self.type_syntax(&inner)?)))
            }
        }
    }

    fn directives(&self, directives: Option<cst::Directives>) -> Vec<DirectiveUse> {
        let directives = directives.into_iter().flat_map(|it| it.directives());
        directives.filter_map(|directive| self.directive(&directive)).collect()
    }

    fn directive(&self, directive: &cst::Directive) -> Option<DirectiveUse> {
        let mut name = self.name(directive.name())?;
        name.span.start = self.span(directive.syntax()).start;
        let arguments = directive.arguments().into_iter().flat_map(|it| it.arguments());
        // A directive with a broken value is left out: the value is already reported.
        let arguments: Option<_> = arguments.map(|argument| self.argument(&argument)).collect();
        Some(DirectiveUse { name, arguments: arguments? })
    }

    fn argument(&self, argument: &cst::Argument) -> Option<(At<String>, At<ValueSyntax>)> {
        let name = self.name(argument.name())?;
        let Some(value) = argument.value() else {
            self.incomplete(argument.syntax(), "`name: value`");
            return None;
        };
        Some((name, self.value(&value)?))
    }

    fn value(&self, value: &cst::Value) -> Option<At<ValueSyntax>> {
        let node = value.syntax();
        let text = || node.text().to_string().trim_end_matches([' ', ',', '\n', '\r', '\t']).to_owned();
        let syntax = match value {
            cst::Value::StringValue(it) => ValueSyntax::String(String::from(it)),
            cst::Value::IntValue(it) => {
                let token = it.int_token().map(|token| token.text().to_owned()).unwrap_or_else(text);
                match token.parse() {
                    Ok(number) => ValueSyntax::Int(number),
                    Err(_) => {
                        self.incomplete(node, "a number of at most 64 bits");
                        return None;
                    }
                }
            }
            cst::Value::FloatValue(it) => {
                let token = it.float_token().map(|token| token.text().to_owned()).unwrap_or_else(text);
                match token.parse::<f64>().ok().filter(|number| number.is_finite()) {
                    Some(number) => ValueSyntax::Float(number),
                    None => {
                        self.incomplete(node, "a number of at most 64 bits");
                        return None;
                    }
                }
            }
            cst::Value::BooleanValue(it) => ValueSyntax::Boolean(it.true_token().is_some()),
            cst::Value::NullValue(_) => ValueSyntax::Null,
            cst::Value::EnumValue(it) => ValueSyntax::Enum(it.name()?.text().to_string()),
            cst::Value::ListValue(it) => {
                ValueSyntax::List(it.values().filter_map(|element| self.value(&element)).collect())
            }
            cst::Value::ObjectValue(it) => ValueSyntax::Object(
                it.object_fields().filter_map(|field| self.object_field(&field)).collect(),
            ),
            cst::Value::Variable(_) => {
                self.incomplete(node, "a constant value");
                return None;
            }
        };
        Some(At::new(syntax, self.span(node)))
    }

    fn object_field(&self, field: &cst::ObjectField) -> Option<(String, At<ValueSyntax>)> {
        let name = field.name()?.text().to_string();
        let Some(value) = field.value() else {
            self.incomplete(field.syntax(), "`name: value`");
            return None;
        };
        Some((name, self.value(&value)?))
    }
}

/// The keyword of a definition that a model does not have.
fn keyword(definition: &cst::Definition) -> &'static str {
    use cst::Definition as Cst;
    match definition {
        Cst::SchemaDefinition(_) => "schema",
        Cst::InterfaceTypeDefinition(_) => "interface",
        Cst::UnionTypeDefinition(_) => "union",
        Cst::InputObjectTypeDefinition(_) => "input",
        Cst::OperationDefinition(_) => "query",
        Cst::FragmentDefinition(_) => "fragment",
        _ => "extend",
    }
}
