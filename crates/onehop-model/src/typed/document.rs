//! Typed document: the types, fields and enums of a file with their typed directives.

use super::directives::{
    AuthDirective, Bounds, CallerDirective, ComputedDirective, ContainerDirective, CopyDirective,
    CountDirective, DefaultDirective, DeletesDirective, Directive, FindDirective, ItemDirective,
    ListDirective, LiveDirective, ModelDirective, OfFields, OneField, OneText, OrderDirective, PageDirective,
    PartitionDirective, ReferenceDirective, StoredDirective, UniqueDirective, WhereDirective,
    WritesDirective,
};
use super::usage::{Arguments, Location, check_uses};
use crate::problem::Problem;
use crate::reports::Reports;
use crate::syntax::{ArgumentSyntax, At, Body, Definition, DirectiveUse, FieldSyntax, Span, TypeSyntax};

/// The definitions of a file with typed directives.
#[derive(Debug, Default)]
pub(crate) struct TypedModel {
    /// The position of `extend schema`; the start of the file where it is missing.
    pub schema: Span,
    pub model: Option<At<ModelDirective>>,
    /// Whether a `@model` or `@container` has a broken argument, so that its absence is no further error.
    pub broken: bool,
    pub containers: Vec<At<ContainerDirective>>,
    /// The object types, `Query`, `Mutation` and `Subscription` included.
    pub types: Vec<TypedType>,
    pub enums: Vec<TypedEnum>,
}

/// An object type.
#[derive(Debug)]
pub(crate) struct TypedType {
    pub name: At<String>,
    pub description: Option<String>,
    pub directives: TypeDirectives,
    pub fields: Vec<TypedField>,
}

/// A field of an object type.
#[derive(Debug)]
pub(crate) struct TypedField {
    pub name: At<String>,
    pub description: Option<String>,
    pub arguments: Vec<ArgumentSyntax>,
    pub ty: At<TypeSyntax>,
    /// The position of the type's name, without brackets.
    pub type_span: Span,
    pub directives: FieldDirectives,
}

/// An enum.
#[derive(Debug)]
pub(crate) struct TypedEnum {
    pub name: At<String>,
    pub description: Option<String>,
    pub values: Vec<TypedEnumValue>,
}

/// A value of an enum.
#[derive(Debug)]
pub(crate) struct TypedEnumValue {
    pub name: At<String>,
    pub description: Option<String>,
    pub stored: Option<At<StoredDirective>>,
}

/// The directives of a type.
#[derive(Debug)]
pub(crate) struct TypeDirectives {
    /// Whether an argument was refused, so that its consequences are no further errors.
    pub broken: bool,
    pub item: Option<At<ItemDirective>>,
    pub embedded: Option<Span>,
    pub deletes: Option<At<DeletesDirective>>,
    pub owned: Option<At<OneField>>,
    pub account: Option<At<OneField>>,
    pub auth: Vec<At<AuthDirective>>,
    pub hidden: Option<Span>,
    pub conditions: Vec<At<WhereDirective>>,
    /// The names with their positions.
    pub present: Vec<(String, Span)>,
}

/// The directives of a field.
#[derive(Debug)]
pub(crate) struct FieldDirectives {
    /// Whether an argument was refused, so that its consequences are no further errors.
    pub broken: bool,
    pub stored: Option<At<StoredDirective>>,
    pub default: Option<At<DefaultDirective>>,
    pub immutable: Option<Span>,
    pub updated: Option<At<OfFields>>,
    pub version: Option<At<OfFields>>,
    pub length: Option<At<Bounds>>,
    pub range: Option<At<Bounds>>,
    pub pattern: Option<At<OneText>>,
    pub money: Option<At<OneText>>,
    pub computed: Option<At<ComputedDirective>>,
    pub unique: Option<At<UniqueDirective>>,
    pub caller: Option<At<CallerDirective>>,
    pub reference: Option<At<ReferenceDirective>>,
    pub copy: Option<At<CopyDirective>>,
    pub partition: Option<At<PartitionDirective>>,
    pub find: Option<At<FindDirective>>,
    pub list: Option<At<ListDirective>>,
    pub conditions: Vec<At<WhereDirective>>,
    pub order: Vec<At<OrderDirective>>,
    pub page: Option<At<PageDirective>>,
    pub count: Option<At<CountDirective>>,
    pub writes: Option<At<WritesDirective>>,
    pub live: Option<At<LiveDirective>>,
    pub auth: Vec<At<AuthDirective>>,
    pub hidden: Option<Span>,
    /// The names with their positions.
    pub present: Vec<(String, Span)>,
}

/// Checked uses of directives at one place.
struct Uses(Vec<(String, At<Arguments>)>);

impl Uses {
    fn new(uses: &[DirectiveUse], kind: &'static str, place: &str, reports: &Reports) -> Self {
        Self(check_uses(uses, Location { kind, place }, reports))
    }

    /// The uses of a directive, without uses with a refused argument.
    fn many<D: Directive>(&self, name: &str) -> Vec<At<D>> {
        let uses = self.0.iter().filter(|(known, it)| known == name && !it.broken);
        uses.filter_map(|(_, it)| Some(At::new(D::decode(&it.value)?, it.span))).collect()
    }

    fn one<D: Directive>(&self, name: &str) -> Option<At<D>> {
        self.many(name).into_iter().next()
    }

    fn span(&self, name: &str) -> Option<Span> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, it)| it.span)
    }

    fn broken(&self) -> bool {
        self.0.iter().any(|(_, it)| it.broken)
    }

    fn present(&self) -> Vec<(String, Span)> {
        self.0.iter().map(|(name, it)| (name.clone(), it.span)).collect()
    }
}

/// The typed document of definitions.
pub(crate) fn typed_model(definitions: Vec<Definition>, reports: &Reports) -> TypedModel {
    let mut model = TypedModel::default();
    for definition in definitions {
        let (span, name) = (definition.span, definition.name);
        match (definition.body, name) {
            (Body::SchemaExtension, _) => {
                let uses = Uses::new(&definition.directives, "SCHEMA", "the schema", reports);
                model.schema = Span { start: span.start, end: span.start + "extend schema".len() };
                model.broken |= uses.broken();
                match (&model.model, uses.one("model")) {
                    (Some(_), Some(again)) => {
                        let place = "the schema".to_owned();
                        let problem = Problem::RepeatedDirective { directive: "model".to_owned(), place };
                        reports.add(again.span, problem);
                    }
                    (_, Some(first)) => model.model = Some(first),
                    (_, None) => {}
                }
                model.containers.extend(uses.many("container"));
            }
            (Body::Object { implements, fields }, Some(name)) => {
                if let Some(span) = implements {
                    let problem = Problem::Unsupported {
                        form: "implements".to_owned(),
                        instead: "a type with the field `id` is a `Node` without it".to_owned(),
                    };
                    reports.add(span, problem);
                }
                let directives = type_directives(&definition.directives, &name, reports);
                let fields = fields.into_iter().map(|field| typed_field(field, &name, reports)).collect();
                let description = definition.description;
                model.types.push(TypedType { name, description, directives, fields });
            }
            (Body::Enum { values }, Some(name)) => {
                Uses::new(&definition.directives, "ENUM", &name, reports);
                let values = values.into_iter().map(|value| {
                    let place = format!("{}.{}", name.value, value.name.value);
                    let uses = Uses::new(&value.directives, "ENUM_VALUE", &place, reports);
                    TypedEnumValue {
                        name: value.name,
                        description: value.description,
                        stored: uses.one("stored"),
                    }
                });
                let values = values.collect();
                model.enums.push(TypedEnum { name, description: definition.description, values });
            }
            (body, _) => reports.add(span, unsupported(&body)),
        }
    }
    model
}

/// The error for a definition that a model does not have.
fn unsupported(body: &Body) -> Problem {
    let (form, instead) = match body {
        Body::Scalar => ("scalar", "the scalars are ID, String, Int, Float, Boolean, DateTime and Decimal"),
        Body::Directive { .. } => {
            ("directive", "the directives are fixed; `onehop model directives` prints them")
        }
        Body::Foreign("schema") => ("schema", "write `extend schema @model(name: ..)`"),
        Body::Foreign("interface") => ("interface", "a type with the field `id` is a `Node`"),
        Body::Foreign("union") => ("union", "a model has item types, embedded types and enums"),
        Body::Foreign("input") => ("input", "input types follow from the stored fields"),
        Body::Foreign("extend") => ("extend", "write all fields in one `type` or `enum`"),
        Body::Foreign(form) => (*form, "a model has no requests"),
        _ => ("definition", "a model has `extend schema`, `type` and `enum`"),
    };
    Problem::Unsupported { form: form.to_owned(), instead: instead.to_owned() }
}

fn type_directives(uses: &[DirectiveUse], place: &str, reports: &Reports) -> TypeDirectives {
    let uses = Uses::new(uses, "OBJECT", place, reports);
    TypeDirectives {
        broken: uses.broken(),
        item: uses.one("item"),
        embedded: uses.span("embedded"),
        deletes: uses.one("deletes"),
        owned: uses.one("owned"),
        account: uses.one("account"),
        auth: uses.many("auth"),
        hidden: uses.span("hidden"),
        conditions: uses.many("where"),
        present: uses.present(),
    }
}

fn typed_field(field: FieldSyntax, type_name: &str, reports: &Reports) -> TypedField {
    let place = format!("{type_name}.{}", field.name.value);
    let uses = Uses::new(&field.directives, "FIELD_DEFINITION", &place, reports);
    let directives = FieldDirectives {
        broken: uses.broken(),
        stored: uses.one("stored"),
        default: uses.one("default"),
        immutable: uses.span("immutable"),
        updated: uses.one("updated"),
        version: uses.one("version"),
        length: uses.one("length"),
        range: uses.one("range"),
        pattern: uses.one("pattern"),
        money: uses.one("money"),
        computed: uses.one("computed"),
        unique: uses.one("unique"),
        caller: uses.one("caller"),
        reference: uses.one("reference"),
        copy: uses.one("copy"),
        partition: uses.one("partition"),
        find: uses.one("find"),
        list: uses.one("list"),
        conditions: uses.many("where"),
        order: uses.many("order"),
        page: uses.one("page"),
        count: uses.one("count"),
        writes: uses.one("writes"),
        live: uses.one("live"),
        auth: uses.many("auth"),
        hidden: uses.span("hidden"),
        present: uses.present(),
    };
    TypedField {
        name: field.name,
        description: field.description,
        arguments: field.arguments,
        ty: field.ty,
        type_span: field.type_name,
        directives,
    }
}
