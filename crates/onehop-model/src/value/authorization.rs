//! Authorization rules of a model, with the defaults applied.

use super::keyword::Action;
use super::literal::Literal;
use super::names::FieldPath;

/// The callers who may do something. Any of them suffices; an empty value admits no caller.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Grants {
    /// All callers.
    pub public: bool,
    /// Callers with a session.
    pub signed_in: bool,
    /// Members of staff.
    pub staff: bool,
    /// The account with the id in one of these fields, sorted.
    pub owner: Vec<FieldPath>,
    /// Callers with one of these claims.
    pub claims: Vec<Claim>,
}

/// A claim of an access token that has a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The name of the claim.
    pub name: String,
    /// The value that the claim is or contains.
    pub has: Literal,
}

/// The callers of each action on a type of item.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Authorization {
    /// The creators of items.
    pub create: Grants,
    /// The readers of items.
    pub read: Grants,
    /// The callers that update items.
    pub update: Grants,
    /// The callers that delete items.
    pub delete: Grants,
}

impl Authorization {
    /// The callers of an action.
    pub fn of(&self, action: Action) -> &Grants {
        match action {
            Action::Create => &self.create,
            Action::Read => &self.read,
            Action::Update => &self.update,
            Action::Delete => &self.delete,
        }
    }

    pub(crate) fn of_mut(&mut self, action: Action) -> &mut Grants {
        match action {
            Action::Create => &mut self.create,
            Action::Read => &mut self.read,
            Action::Update => &mut self.update,
            Action::Delete => &mut self.delete,
        }
    }
}

/// The callers who read or update one field; `None` as for its item.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FieldAuthorization {
    /// The readers of the field.
    pub read: Option<Grants>,
    /// The callers that update the field.
    pub update: Option<Grants>,
}

impl Authorization {
    /// The callers where a model states none: `READ` is public, `CREATE` is for signed-in callers, other
    /// actions are for the owner, or for staff where items have no owner.
    pub(crate) fn by_default(owner: Vec<FieldPath>) -> Self {
        let others = Grants { staff: owner.is_empty(), owner, ..Grants::default() };
        Self {
            create: Grants { signed_in: true, ..Grants::default() },
            read: Grants { public: true, ..Grants::default() },
            update: others.clone(),
            delete: others,
        }
    }
}
