//! Planned schema: the models whose reads plans answer, and the way in which their general executor answers.
//!
//! It names no domain. Types, fields, lists and root fields come from models; a domain with Rust adds the
//! part of its API that a model does not express.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use onehop_model::{Field, Query};
use uuid::Uuid;

use crate::domain::api_additions::{AddedField, ApiAdditions};
use crate::domain::cursor::ListKind;
use crate::served::{ItemPlace, PartitionSource, ServedModel, ServedReads, TypeIndex};

/// Bytes of a UUID.
const UUID_BYTES: usize = 16;
/// Characters of the longest global id of UUIDs.
const UUID_CHARACTERS_MAX: usize = 44;

/// A model whose reads are planned, and its reads.
#[derive(Clone)]
pub struct PlannedDomain {
    /// The reads of requests.
    pub reads: ServedReads,
    /// The reads after a wait for a position: they see commits of other processes.
    pub recent_reads: ServedReads,
    /// The part of its API that is in Rust; `None` for a domain that is a model alone.
    pub additions: Option<&'static ApiAdditions>,
}

/// The models of a schema.
pub(in crate::graphql) struct PlannedSchema {
    models: Vec<PlannedModel>,
    pub(super) rules: ExecutorRules,
}

/// A model of a schema.
pub(super) struct PlannedModel {
    pub(super) model: Arc<ServedModel>,
    pub(super) additions: Option<&'static ApiAdditions>,
}

/// The rules by which a general executor counts and reads, where these differ.
#[derive(Debug, Clone, Copy)]
pub(in crate::graphql) struct ExecutorRules {
    /// Bytes of an absent value in the response budget.
    pub(super) null_bytes: usize,
    /// Whether `__typename` takes bytes from the response budget.
    pub(super) counts_type_names: bool,
    /// Whether the elements of lists and the fields at the root do.
    pub(super) counts_elements: bool,
    /// Whether a data loader reads each item once for a request; otherwise each page has reads of its own.
    pub(super) has_loader: bool,
    /// Whether a root field has many objects by their ids.
    pub(super) has_nodes: bool,
}

impl ExecutorRules {
    /// The rules of static types.
    pub(in crate::graphql) const STATIC: Self = Self {
        null_bytes: 5,
        counts_type_names: true,
        counts_elements: false,
        has_loader: false,
        has_nodes: false,
    };
    /// The rules of dynamic types.
    pub(in crate::graphql) const DYNAMIC: Self = Self {
        null_bytes: 4,
        counts_type_names: false,
        counts_elements: true,
        has_loader: true,
        has_nodes: true,
    };
}

/// An item type, by its model and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlannedType {
    pub(super) model: usize,
    pub(super) ty: TypeIndex,
}

/// The form of the global ids of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdFormat {
    /// A byte and one or two UUIDs.
    Uuids(u8),
    /// The type, the id and the partition key as texts.
    Texts(&'static str),
}

/// The form of the cursors of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CursorFormat {
    /// By the kind of the list.
    Kind(ListKind),
    /// By the name of the list.
    Label(Box<str>),
}

impl PlannedSchema {
    /// The schema of these models.
    pub(in crate::graphql) fn new(domains: &[PlannedDomain], rules: ExecutorRules) -> Self {
        let planned = |domain: &PlannedDomain| PlannedModel {
            model: Arc::clone(domain.reads.model()),
            additions: domain.additions,
        };
        Self { models: domains.iter().map(planned).collect(), rules }
    }

    pub(super) fn model(&self, of: PlannedType) -> &PlannedModel {
        &self.models[of.model]
    }

    pub(super) fn model_at(&self, model: usize) -> Option<&ServedModel> {
        self.models.get(model).map(|planned| &*planned.model)
    }

    /// A field of `Query` with its model.
    pub(super) fn query(&self, name: &str) -> Option<(usize, &Query)> {
        self.models.iter().enumerate().find_map(|(number, planned)| {
            let query = planned.model.model().queries().iter().find(|query| &*query.name == name)?;
            Some((number, query))
        })
    }

    /// The type of a name in a model.
    pub(super) fn type_of(&self, model: usize, name: &str) -> Option<PlannedType> {
        let ty = self.models.get(model)?.model.index_of(name)?;
        Some(PlannedType { model, ty })
    }

    /// All types whose items have ids in the API.
    pub(super) fn nodes(&self) -> impl Iterator<Item = PlannedType> {
        self.models.iter().enumerate().flat_map(|(model, planned)| {
            let nodes = planned.model.types().filter(|(_, served)| served.item.is_node());
            nodes.map(move |(ty, _)| PlannedType { model, ty })
        })
    }

    /// The account type of a model.
    pub(super) fn account_type(&self, model: usize) -> Option<PlannedType> {
        let ty = self.models.get(model)?.model.account()?;
        Some(PlannedType { model, ty })
    }

    /// The item behind a global id; `None` for any other text.
    pub(super) fn decode(&self, id: &str) -> Option<(PlannedType, ItemPlace)> {
        if let [planned] = self.models.as_slice()
            && planned.additions.is_none()
        {
            let place = ItemPlace::decode(&planned.model, id).ok()?;
            return Some((PlannedType { model: 0, ty: place.ty }, place));
        }
        let mut bytes = [0; 1 + 2 * UUID_BYTES];
        let is_short = id.len() <= UUID_CHARACTERS_MAX;
        let length = is_short.then(|| URL_SAFE_NO_PAD.decode_slice(id, &mut bytes).ok()).flatten()?;
        let (kind, rest) = bytes.get(..length)?.split_first()?;
        let ids: Vec<Uuid> = rest.chunks(UUID_BYTES).map(Uuid::from_slice).collect::<Result<_, _>>().ok()?;
        self.models.iter().enumerate().find_map(|(model, planned)| {
            let kinds = planned.additions?.id_kinds;
            let (name, _) = kinds.iter().find(|(_, of_type)| of_type == kind)?;
            let ty = planned.model.index_of(name)?;
            Some((PlannedType { model, ty }, ItemPlace::of_uuids(&planned.model, ty, &ids)?))
        })
    }
}

impl PlannedModel {
    /// The form of the ids of a type; `None` where the API shows no ids.
    pub(super) fn id_format(&self, ty: TypeIndex) -> Option<IdFormat> {
        let served = self.model.ty(ty);
        match self.additions {
            None => Some(IdFormat::Texts(served.type_value)),
            Some(additions) => {
                let kind = additions.id_kinds.iter().find(|(name, _)| *name == served.name);
                kind.map(|(_, kind)| IdFormat::Uuids(*kind))
            }
        }
    }

    /// The form of the cursors of a list; `None` where the API shows no cursors.
    pub(super) fn cursor_format(&self, label: &str) -> Option<CursorFormat> {
        match self.additions {
            None => Some(CursorFormat::Label(label.into())),
            Some(additions) => {
                let kind = additions.cursors.iter().find(|(name, _)| *name == label);
                kind.map(|(_, kind)| CursorFormat::Kind(*kind))
            }
        }
    }

    /// A field that is computed in Rust.
    pub(super) fn added(&self, type_name: &str, field: &str) -> Option<AddedField> {
        let added = self.additions?.fields.iter().find(|(name, _)| is_field(name, type_name, field));
        added.map(|(_, field)| *field)
    }

    /// Whether the general executor answers a field of the model.
    pub(super) fn leaves_out(&self, type_name: &str, field: &str) -> bool {
        let left_out = self.additions.map_or(&[][..], |additions| additions.left_out);
        left_out.iter().any(|(name, _)| is_field(name, type_name, field))
    }

    /// The reference whose target is read together with an item of a type.
    pub(super) fn read_with(&self, ty: TypeIndex) -> Option<&Field> {
        let served = self.model.ty(ty);
        let names = self.additions.map_or(&[][..], |additions| additions.read_with);
        let is_read = |field: &&Field| names.iter().any(|name| is_field(name, served.name, &field.name));
        served.item.fields.iter().find(is_read)
    }

    /// Whether a list of entries reads a field that they lack for the whole page.
    pub(super) fn reads_for_page(&self, type_name: &str, field: &str) -> bool {
        match self.additions {
            None => true,
            Some(additions) => additions.page_texts.iter().any(|name| is_field(name, type_name, field)),
        }
    }

    /// The place of the item of an account that refers to another item, where its id is derived from both.
    pub(super) fn derived_place(&self, ty: TypeIndex, owner: &ItemPlace, caller: Uuid) -> Option<ItemPlace> {
        let Some(additions) = self.additions else {
            return crate::served::derived_place(&self.model, ty, owner, caller);
        };
        let served = self.model.ty(ty);
        let id = (additions.derived_id)(served.name, Uuid::try_parse(&owner.id).ok()?, caller)?;
        match served.key {
            PartitionSource::Properties(_) => Some(ItemPlace::within(ty, &owner.id, id.to_string())),
            PartitionSource::Id | PartitionSource::Constant => None,
        }
    }
}

/// Whether a text is `Type.field`.
fn is_field(text: &str, type_name: &str, field: &str) -> bool {
    text.strip_prefix(type_name).and_then(|rest| rest.strip_prefix('.')) == Some(field)
}
