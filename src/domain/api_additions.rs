//! API additions: the part of a domain's API that its model does not express, for its compiled plans: global
//! ids, cursors, rights of the caller, and the fields that are left to the general executor.
//!
//! A domain without Rust has none of them. Fields are named `Type.field`.

use onehop_model::Action;
use uuid::Uuid;

use super::cursor::ListKind;

/// The additions of one domain.
#[derive(Debug, Clone, Copy)]
pub struct ApiAdditions {
    /// The first byte of the global ids of each type.
    pub id_kinds: &'static [(&'static str, u8)],
    /// The kinds of lists, which their cursors name.
    pub cursors: &'static [(&'static str, ListKind)],
    /// Fields that are computed in Rust.
    pub fields: &'static [(&'static str, AddedField)],
    /// References whose targets are read together with an item, and without which it is absent.
    pub read_with: &'static [&'static str],
    /// Texts that a list of entries reads for all of its page.
    pub page_texts: &'static [&'static str],
    /// Fields of the model that the general executor answers, each with the reason.
    pub left_out: &'static [(&'static str, &'static str)],
    /// The id of an item that is derived from another item and the caller, by the type.
    pub derived_id: fn(type_name: &str, owner: Uuid, caller: Uuid) -> Option<Uuid>,
    /// The argument that names the design of the model.
    pub design_argument: Option<&'static str>,
}

/// A field that is computed in Rust, from the stored item alone.
#[derive(Debug, Clone, Copy)]
pub enum AddedField {
    /// The date of creation in the id of an item.
    CreationDateOfId,
    /// The right of the caller to an action on the item.
    Right(AddedRight),
}

/// A right of the caller.
#[derive(Debug, Clone, Copy)]
pub struct AddedRight {
    /// The action, by the authorization of the model.
    pub action: Action,
    /// Whether members of staff have the right, too.
    pub or_staff: bool,
    /// Fields that end the right: the first value in any of them does.
    pub until: &'static [&'static str],
}

impl AddedField {
    /// The right to an action, as the model has it.
    #[must_use]
    pub const fn right(action: Action) -> Self {
        Self::Right(AddedRight { action, or_staff: false, until: &[] })
    }

    /// The same right, for members of staff, too.
    #[must_use]
    pub const fn right_with_staff(action: Action) -> Self {
        Self::Right(AddedRight { action, or_staff: true, until: &[] })
    }

    /// The right to an action until one of these fields has a value.
    #[must_use]
    pub const fn right_until(action: Action, until: &'static [&'static str]) -> Self {
        Self::Right(AddedRight { action, or_staff: false, until })
    }
}
