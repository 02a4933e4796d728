//! Built schemas: the schema in all its forms, with the index of its text. The servers of one
//! process share it, as it depends on the options alone: a schema takes longer to build than all else at a
//! start.

use std::sync::{Arc, OnceLock};

use onehop_graphql_server::schema_index::SchemaIndex;
use onehop_graphql_server::variable_coercion::SdlError;
use parking_lot::Mutex;

use super::complexity::Complexity;
use super::schema::{
    BlogSchema, SchemaOptions, live_schema, schema, sdl_of, unchecked_schema, validated_schema,
};
use super::validation::Validator;

/// The options whose schemas are kept; a server has one kind.
const KEPT_MAX: usize = 4;

/// The schemas of the last servers, with their options.
static KEPT: Mutex<Vec<(SchemaOptions, Arc<BuiltSchemas>)>> = Mutex::new(Vec::new());

/// The schema in all its forms.
pub(super) struct BuiltSchemas {
    pub(super) schema: BlogSchema,
    pub(super) validated: BlogSchema,
    pub(super) unchecked: BlogSchema,
    pub(super) live: BlogSchema,
    pub(super) complexity: Complexity,
    pub(super) index: SchemaIndex,
    /// Made when the first document is validated.
    validator: OnceLock<Validator>,
    options: SchemaOptions,
}

impl BuiltSchemas {
    /// The schemas with these options.
    ///
    /// # Errors
    /// The schema's own SDL cannot be read back.
    pub(super) fn of(options: SchemaOptions) -> Result<Arc<Self>, SdlError> {
        let mut kept = KEPT.lock();
        if let Some((_, built)) = kept.iter().find(|(known, _)| *known == options) {
            return Ok(Arc::clone(built));
        }
        let built = Arc::new(Self::build(options)?);
        if kept.len() >= KEPT_MAX {
            kept.remove(0);
        }
        kept.push((options, Arc::clone(&built)));
        Ok(built)
    }

    fn build(options: SchemaOptions) -> Result<Self, SdlError> {
        let schema = schema(options);
        let sdl = sdl_of(&schema);
        Ok(Self {
            complexity: Complexity::of_schema(&schema, &sdl, options.complexity_max)?,
            index: SchemaIndex::from_sdl(&sdl)?,
            validated: validated_schema(options),
            unchecked: unchecked_schema(options),
            live: live_schema(options),
            validator: OnceLock::new(),
            schema,
            options,
        })
    }

    pub(super) fn validator(&self) -> &Validator {
        self.validator.get_or_init(|| Validator::new(self.options))
    }
}
