//! Checks of relations between resolved parts: keys, writers, lists, copies, owners and counts. Each check
//! skips parts that are already reported.

mod checked;
mod circles;
mod keys;
mod lists;
mod properties;
mod relations;
mod writers;

use self::checked::Checked;
use crate::reports::Reports;
use crate::typed::TypedModel;
use crate::value::ModelParts;

/// Reports mistakes between the parts of a model.
pub(crate) fn check(parts: &ModelParts, typed: &TypedModel, reports: &Reports) {
    let checked = Checked { parts, typed, reports };
    keys::check_keys(&checked);
    properties::check_properties(&checked);
    lists::check_lists(&checked);
    writers::check_writers(&checked);
    circles::check_circles(&checked);
    relations::check_relations(&checked);
}
