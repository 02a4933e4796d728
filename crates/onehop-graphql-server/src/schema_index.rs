//! Schema index: the types of an SDL, parsed once: input types for the coercion of variables, output types
//! for null propagation, and the names of fields and arguments.

use async_graphql::parser::parse_schema;
use async_graphql::parser::types::{ExecutableDocument, OperationDefinition, VariableDefinition};
use async_graphql::{Positioned, Response, ServerError, Variables};

use crate::known_names::KnownNames;
use crate::live_directive;
use crate::nested_variables::VariablePositions;
use crate::null_propagation::OutputTypes;
use crate::variable_coercion::{InputTypes, ScalarCheck, SdlError};

/// The server's knowledge of a schema.
#[derive(Debug, Clone)]
pub struct SchemaIndex {
    inputs: InputTypes,
    outputs: OutputTypes,
    positions: VariablePositions,
    names: KnownNames,
    serves_live: bool,
}

impl SchemaIndex {
    /// Reads an SDL.
    ///
    /// # Errors
    /// It does not parse.
    pub fn from_sdl(sdl: &str) -> Result<Self, SdlError> {
        let definitions = parse_schema(sdl)?.definitions;
        let outputs = OutputTypes::of(&definitions);
        let positions = VariablePositions::of(&definitions);
        let names = KnownNames::of(&definitions);
        let serves_live = live_directive::is_defined(sdl);
        Ok(Self { inputs: InputTypes::of(definitions), outputs, positions, names, serves_live })
    }

    /// Whether the schema has the directive `@live`.
    #[must_use]
    pub(crate) fn serves_live(&self) -> bool {
        self.serves_live
    }

    /// The same, whose errors conceal names and types that a client did not write, if so.
    #[must_use]
    pub(crate) fn concealing_schema(self, conceals: bool) -> Self {
        Self { inputs: self.inputs.concealing_schema(conceals), ..self }
    }

    /// The same, with a check of the values of a scalar.
    #[must_use]
    pub(crate) fn with_scalar(self, name: &'static str, check: ScalarCheck) -> Self {
        Self { inputs: self.inputs.with_scalar(name, check), ..self }
    }

    /// Variable coercion: whether the values of variables fit their types.
    ///
    /// # Errors
    /// All variables that do not.
    pub(crate) fn check_variables(
        &self,
        definitions: &[Positioned<VariableDefinition>],
        variables: &Variables,
    ) -> Result<(), Vec<ServerError>> {
        self.inputs.check(definitions, variables)
    }

    /// Whether variables within lists and input objects fit their positions with any values.
    #[must_use]
    pub(crate) fn nested_variables_fit(&self, document: &ExecutableDocument) -> bool {
        self.positions.fit(document)
    }

    /// An error for each field and argument of a document that the schema does not have, up to this many.
    #[must_use]
    pub(crate) fn unknown_names(&self, document: &ExecutableDocument, errors_max: usize) -> Vec<ServerError> {
        self.names.unknown(document, errors_max)
    }

    /// Null propagation: sets the fields to null that failed by the errors of a response.
    pub(crate) fn propagate_nulls(
        &self,
        document: &ExecutableDocument,
        operation: &OperationDefinition,
        response: &mut Response,
    ) {
        self.outputs.complete(document, operation, response);
    }
}
