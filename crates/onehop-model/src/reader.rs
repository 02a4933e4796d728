//! Reader of a model: syntax, typed directives, resolution and checks, one after another. All errors of a
//! file come together.

use crate::check::check;
use crate::errors::Errors;
use crate::reports::Reports;
use crate::resolve::resolve;
use crate::syntax::parse;
use crate::typed::typed_model;
use crate::value::Model;

impl Model {
    /// Reads a model. The file's name occurs in errors only.
    ///
    /// # Errors
    /// All mistakes of the file. After a mistake in the syntax, the sound definitions are still checked by
    /// themselves; names and relations are not, as the broken definitions may declare them.
    pub fn read(file: &str, text: &str) -> Result<Self, Errors> {
        let reports = Reports::default();
        let definitions = parse(text, &reports);
        let is_sound = reports.len() == 0;
        let typed = typed_model(definitions, &reports);
        let mut parts = None;
        if is_sound {
            let resolved = resolve(&typed, &reports);
            check(&resolved, &typed, &reports);
            parts = Some(resolved);
        }
        match Errors::new(file, text, reports.into_sorted()) {
            Some(errors) => Err(errors),
            None => {
                Ok(Self { parts: parts.expect("without reports the syntax is sound, so it was resolved") })
            }
        }
    }
}
