//! Scope: the declared names of a file, and lookups that report unknown names with the nearest known one.

use std::collections::BTreeMap;

use crate::problem::Problem;
use crate::reports::Reports;
use crate::syntax::{At, Span, TypeSyntax};
use crate::typed::{TypedEnum, TypedField, TypedModel, TypedType};
use crate::value::{Container, FieldPath, Name, Scalar, TypeOf};

/// The types whose fields are operations.
pub(crate) const ROOTS: [&str; 3] = ["Query", "Mutation", "Subscription"];

/// The declared names of a file.
pub(crate) struct Scope<'a> {
    pub typed: &'a TypedModel,
    pub reports: &'a Reports,
    pub containers: &'a [Container],
    types: BTreeMap<&'a str, &'a TypedType>,
    enums: BTreeMap<&'a str, &'a TypedEnum>,
}

/// The role of a field, by its directives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Id,
    Reference,
    Partition,
    Find,
    List,
    Count,
    HasCaller,
    Computed,
    Created,
    Updated,
    Version,
    Copied,
    Input,
}

/// A path of fields that was found.
#[derive(Debug)]
pub(crate) struct FoundPath<'a> {
    pub path: FieldPath,
    /// The last field, and the type that has it.
    pub last: &'a TypedField,
    pub owner: &'a str,
    /// Whether a field before the last is a list.
    pub crosses_list: bool,
    /// Whether a field before the last is a reference.
    pub crosses_reference: bool,
}

impl TypedField {
    /// The role of the field.
    pub fn role(&self) -> Role {
        let has = |name: &str| self.directives.present.iter().any(|(known, _)| known == name);
        let copies_from = || self.directives.copy.as_ref().is_some_and(|copy| copy.from.is_some());
        let roles = [
            ("reference", Role::Reference),
            ("partition", Role::Partition),
            ("find", Role::Find),
            ("list", Role::List),
            ("count", Role::Count),
            ("computed", Role::Computed),
            ("created", Role::Created),
            ("updated", Role::Updated),
            ("version", Role::Version),
        ];
        match roles.iter().find(|(name, _)| has(name)) {
            Some((_, role)) => *role,
            None if copies_from() => Role::Copied,
            None if has("caller") => Role::HasCaller,
            None if self.name.value == "id" => Role::Id,
            None => Role::Input,
        }
    }

    /// The name of the field's type.
    pub fn type_name(&self) -> &str {
        let mut ty = &self.ty.value;
        loop {
            match ty {
                TypeSyntax::Named(name) => return name,
                TypeSyntax::List(inner) | TypeSyntax::NonNull(inner) => ty = inner,
            }
        }
    }

    /// Whether the type is a list.
    pub fn is_list(&self) -> bool {
        match &self.ty.value {
            TypeSyntax::List(_) => true,
            TypeSyntax::NonNull(inner) => matches!(**inner, TypeSyntax::List(_)),
            TypeSyntax::Named(_) => false,
        }
    }

    /// Whether the type is non-null.
    pub fn is_non_null(&self) -> bool {
        matches!(self.ty.value, TypeSyntax::NonNull(_))
    }
}

impl Role {
    /// Whether the field is other items.
    pub fn is_related(self) -> bool {
        matches!(self, Self::Partition | Self::Find | Self::List)
    }
}

impl TypedType {
    /// The field of a name.
    pub fn field(&self, name: &str) -> Option<&TypedField> {
        self.fields.iter().find(|field| field.name.value == name)
    }

    /// Whether the type has items.
    pub fn is_item(&self) -> bool {
        self.has("item")
    }

    /// Whether the type is an object within items.
    pub fn is_embedded(&self) -> bool {
        self.has("embedded")
    }

    fn has(&self, directive: &str) -> bool {
        self.directives.present.iter().any(|(known, _)| known == directive)
    }
}

impl<'a> Scope<'a> {
    /// The scope of a file. Of two definitions with one name the first counts.
    pub fn new(typed: &'a TypedModel, containers: &'a [Container], reports: &'a Reports) -> Self {
        let (mut types, mut enums) = (BTreeMap::new(), BTreeMap::new());
        for ty in &typed.types {
            types.entry(ty.name.as_str()).or_insert(ty);
        }
        for it in &typed.enums {
            enums.entry(it.name.as_str()).or_insert(it);
        }
        Self { typed, reports, containers, types, enums }
    }

    /// The object type of a name, without a report.
    pub fn get(&self, name: &str) -> Option<&'a TypedType> {
        self.types.get(name).copied()
    }

    /// The enum of a name, without a report.
    pub fn get_enum(&self, name: &str) -> Option<&'a TypedEnum> {
        self.enums.get(name).copied()
    }

    /// The item type of a name, without a report.
    pub fn item(&self, name: &str) -> Option<&'a TypedType> {
        self.get(name).filter(|ty| ty.is_item())
    }

    /// The container of a name.
    pub fn container(&self, name: &At<String>) -> Option<&'a Container> {
        let found = self.containers.iter().find(|container| *container.name == *name.value);
        if found.is_none() && !self.typed.broken {
            let known = self.containers.iter().map(|container| &*container.name);
            let problem = Problem::UnknownContainer { name: name.value.clone() };
            self.reports.add_near(name.span, problem, name, known);
        }
        found
    }

    /// The meaning of a type's name. `None` is already reported.
    pub fn type_of(&self, name: &str, span: Span) -> Option<TypeOf> {
        if let Some((_, scalar)) = Scalar::ALL.iter().find(|(known, _)| *known == name) {
            return Some(TypeOf::Scalar(*scalar));
        }
        if self.enums.contains_key(name) {
            return Some(TypeOf::Enum(Name::new(name)));
        }
        match self.get(name) {
            Some(ty) if ty.is_item() => Some(TypeOf::Item(Name::new(name))),
            Some(ty) if ty.is_embedded() => Some(TypeOf::Embedded(Name::new(name))),
            // A type without `@item` and `@embedded` is reported where it is declared.
            Some(_) if !ROOTS.contains(&name) => None,
            _ => {
                let scalars = Scalar::ALL.iter().map(|(known, _)| *known);
                let types = self.types.keys().copied().filter(|known| !ROOTS.contains(known));
                let known = scalars.chain(types).chain(self.enums.keys().copied());
                self.reports.add_near(span, Problem::UnknownType { name: name.to_owned() }, name, known);
                None
            }
        }
    }

    /// The item type that a name refers to. `None` is already reported.
    pub fn item_type(&self, name: &str, span: Span) -> Option<&'a TypedType> {
        match self.type_of(name, span)? {
            TypeOf::Item(_) => self.get(name),
            _ => {
                self.reports.add(span, Problem::NotAnItem { name: name.to_owned() });
                None
            }
        }
    }

    /// The field of a type. `None` is already reported.
    pub fn field<'t>(&self, ty: &'t TypedType, name: &str, span: Span) -> Option<&'t TypedField> {
        let found = ty.field(name);
        if found.is_none() {
            let problem = Problem::UnknownField { ty: ty.name.value.clone(), field: name.to_owned() };
            let known = ty.fields.iter().map(|field| field.name.as_str());
            self.reports.add_near(span, problem, name, known);
        }
        found
    }

    /// The single field that a text names.
    pub fn single<'t>(&self, ty: &'t TypedType, name: &At<String>) -> Option<&'t TypedField> {
        self.field(ty, &name.value, name.span)
    }

    /// The fields of a dotted path through objects and references. `None` is already reported.
    pub fn path<'t>(&self, ty: &'t TypedType, path: &At<String>) -> Option<FoundPath<'t>>
    where
        'a: 't,
    {
        let mut found = FoundPath {
            path: FieldPath::parse(&path.value),
            last: self.field(ty, path.split('.').next().unwrap_or_default(), path.span)?,
            owner: &ty.name,
            crosses_list: false,
            crosses_reference: false,
        };
        for part in path.split('.').skip(1) {
            let through = found.last;
            let inner = self.get(through.type_name()).filter(|inner| {
                inner.is_embedded() || (inner.is_item() && through.role() == Role::Reference)
            });
            let Some(inner) = inner else {
                let field = through.name.value.clone();
                self.reports.add(path.span, Problem::NotAnObject { ty: found.owner.to_owned(), field });
                return None;
            };
            found.crosses_list |= through.is_list();
            found.crosses_reference |= through.role() == Role::Reference;
            found.owner = &inner.name;
            found.last = self.field(inner, part, path.span)?;
        }
        Some(found)
    }

    /// A path of fields that items store, through objects and no references. `None` is already reported.
    pub fn stored_path<'t>(&self, ty: &'t TypedType, path: &At<String>) -> Option<FoundPath<'t>>
    where
        'a: 't,
    {
        let found = self.path(ty, path)?;
        if found.crosses_reference {
            self.reports.add(path.span, Problem::PathThroughReference { path: path.value.clone() });
            return None;
        }
        Some(found)
    }

    /// A number within limits. `None` is already reported.
    pub fn within(&self, argument: &'static str, value: &At<i64>, min: i64, max: i64) -> Option<u32> {
        within(self.reports, argument, value, min, max)
    }
}

/// A number within limits, before there is a scope.
pub(crate) fn within(
    reports: &Reports,
    argument: &'static str,
    value: &At<i64>,
    min: i64,
    max: i64,
) -> Option<u32> {
    if (min..=max).contains(&value.value) {
        return u32::try_from(value.value).ok();
    }
    reports.add(value.span, Problem::OutOfRange { argument, value: value.value, min, max });
    None
}
