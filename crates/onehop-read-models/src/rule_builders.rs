//! Builders of rules: they read like sentences, and each step has the methods that make sense after it.

use std::sync::Arc;

use onehop_store::ContainerName;

use crate::computation::Padding;
use crate::condition::Condition;
use crate::item_type::ItemType;
use crate::rule::{
    ComputedField, CopyMode, CopyRule, CopyTarget, CountRule, CountText, ElementFields, Keep, ListPartition,
    ListRule, OwnedType, OwnsRule, Rule,
};

/// Begins a copy rule: a field of a source item is stored in every target that names the source. `follows`
/// keeps the copies current, `frozen` leaves them as they were written.
///
/// ```
/// use onehop_read_models::{CopyTarget, ItemType, Rule, copy};
/// use onehop_store::ContainerName;
///
/// let user = ItemType::new(ContainerName("users"), "user", &["userId", "username"]);
/// let post = ItemType::new(ContainerName("posts"), "post", &["userId", "username", "title"]);
///
/// let names = copy("names").of(&user, "username").to([CopyTarget::new(&post, "username", "userId")])
///     .follows("names-catch-up");
/// assert!(matches!(names, Rule::Copy(_)));
/// ```
#[must_use]
pub fn copy(name: &'static str) -> CopyNamed {
    CopyNamed { name }
}

/// A copy rule of which only the name is known.
#[derive(Debug, Clone, Copy)]
pub struct CopyNamed {
    name: &'static str,
}

impl CopyNamed {
    /// The source and its field.
    #[must_use]
    pub fn of(self, source: &ItemType, field: &'static str) -> CopyOf {
        CopyOf { name: self.name, source: source.clone(), field }
    }
}

/// A copy rule with its source.
#[derive(Debug, Clone)]
pub struct CopyOf {
    name: &'static str,
    source: ItemType,
    field: &'static str,
}

impl CopyOf {
    /// The targets.
    #[must_use]
    pub fn to(self, targets: impl IntoIterator<Item = CopyTarget>) -> CopyRule {
        let Self { name, source, field } = self;
        let targets = targets.into_iter().collect();
        CopyRule {
            name,
            source,
            field,
            targets,
            mode: CopyMode::Follows,
            absent: None,
            deletes_sources: false,
        }
    }
}

impl CopyRule {
    /// The same, as copies that never change.
    #[must_use]
    pub fn frozen(mut self) -> Rule {
        self.mode = CopyMode::Frozen;
        Rule::Copy(Arc::new(self))
    }

    /// The copies follow their source. Names the projection that compares new and changed targets, which are
    /// in one container.
    #[must_use]
    pub fn follows(mut self, catch_up: &'static str) -> Rule {
        self.targets.iter_mut().for_each(|target| target.catch_up = catch_up);
        Rule::Copy(Arc::new(self))
    }
}

/// `list(name).of(&post).into(USERS, ListPartition::Field("userId")).fields(&[...]).all()`.
#[must_use]
pub fn list(name: &'static str) -> ListNamed {
    ListNamed { name }
}

/// A list rule of which only the name is known.
#[derive(Debug, Clone, Copy)]
pub struct ListNamed {
    name: &'static str,
}

impl ListNamed {
    /// The type of item that is listed.
    #[must_use]
    pub fn of(self, source: &ItemType) -> ListOf {
        ListOf { name: self.name, source: source.clone() }
    }
}

/// A list rule with its source.
#[derive(Debug, Clone)]
pub struct ListOf {
    name: &'static str,
    source: ItemType,
}

impl ListOf {
    /// The container of the entries and their logical partition.
    #[must_use]
    pub fn into(self, container: ContainerName, partition: ListPartition) -> ListRule {
        ListRule {
            name: self.name,
            entry_type: self.source.name,
            source: self.source,
            container,
            order_by: None,
            partition,
            fields: Vec::new(),
            unless_zero: Vec::new(),
            optional: Vec::new(),
            defaults: Vec::new(),
            computed: Vec::new(),
            element: None,
            key_field: None,
            immutable_partition: false,
            entry_changes: None,
            conditions: Vec::new(),
            keep: Keep::All,
            is_counted: false,
        }
    }
}

impl ListRule {
    /// The fields that every entry has, beside `id`, `type` and `version`.
    #[must_use]
    pub fn fields(mut self, fields: &[&'static str]) -> Self {
        self.fields = fields.to_vec();
        self
    }

    /// The numeric fields that an entry has only where they are not 0: a new item's entry is then smaller.
    #[must_use]
    pub fn unless_zero(mut self, fields: &[&'static str]) -> Self {
        self.unless_zero = fields.to_vec();
        self
    }

    /// The fields that an entry has where its source has them.
    #[must_use]
    pub fn optional(mut self, fields: &[&'static str]) -> Self {
        self.optional = fields.to_vec();
        self
    }

    /// The fields that are computed.
    #[must_use]
    pub fn computed(mut self, fields: &[ComputedField]) -> Self {
        self.computed = fields.to_vec();
        self
    }

    /// The fields of an entry that name the element (the partition key) and the item, in a list by elements.
    #[must_use]
    pub fn element_fields(mut self, partition_key: &'static str, id: &'static str) -> Self {
        self.element = Some(ElementFields { partition_key, id });
        self
    }

    /// For a list by a field: no writer ever changes the field. The container then needs no index of `id`. A
    /// change of the field after all leaves the old entry behind, which verification finds.
    #[must_use]
    pub fn immutable_partition(mut self) -> Self {
        self.immutable_partition = true;
        self
    }

    /// The field that counts the changes of the fields that decide whether and where an item has entries. Ids
    /// of such items are never used again.
    #[must_use]
    pub fn entry_changes(mut self, field: &'static str) -> Self {
        self.entry_changes = Some(field);
        self
    }

    /// Lists only the items for which these hold.
    #[must_use]
    pub fn only(mut self, conditions: impl IntoIterator<Item = Condition>) -> Self {
        self.conditions = conditions.into_iter().collect();
        self
    }

    /// Keeps the items with the highest value of the property that orders both containers, which may change.
    #[must_use]
    pub fn highest(mut self, items_max: usize) -> Rule {
        self.keep = Keep::Highest(items_max);
        Rule::List(Arc::new(self))
    }

    /// Keeps every item.
    #[must_use]
    pub fn all(self) -> Rule {
        Rule::List(Arc::new(self))
    }

    /// Keeps the newest items.
    #[must_use]
    pub fn newest(mut self, items_max: usize) -> Rule {
        self.keep = Keep::Newest(items_max);
        Rule::List(Arc::new(self))
    }
}

/// `count(&comment).into(&post, "commentCount", "postId")`.
#[must_use]
pub fn count(counted: &ItemType) -> CountOf {
    CountOf { counted: counted.clone(), text: None, projection: None }
}

/// A count rule without its parent.
#[derive(Debug, Clone)]
pub struct CountOf {
    counted: ItemType,
    text: Option<CountText>,
    projection: Option<&'static str>,
}

impl CountOf {
    /// The field of the parent that holds the count as a text, too.
    #[must_use]
    pub fn padded(mut self, field: &'static str, padding: Padding) -> Self {
        self.text = Some(CountText { field, padding });
        self
    }

    /// A projection of this name keeps the count, behind the changes of the items.
    #[must_use]
    pub fn behind(mut self, projection: &'static str) -> Self {
        self.projection = Some(projection);
        self
    }

    /// The parent and its field; the counted items name the parent in their field `by`.
    #[must_use]
    pub fn into(self, parent: &ItemType, field: &'static str, by: &'static str) -> Rule {
        let (Self { counted, text, projection }, parent) = (self, parent.clone());
        let rule = CountRule { counted, parent, field, by, parent_key_fields: None, text, projection };
        Rule::Count(Arc::new(rule))
    }
}

/// `owns(name, &post, [&comment, &like])`.
#[must_use]
pub fn owns<'a>(name: &'static str, owner: &ItemType, owned: impl IntoIterator<Item = &'a ItemType>) -> Rule {
    let owned = owned.into_iter().map(OwnedType::of).collect();
    Rule::Owns(Arc::new(OwnsRule { name, owner: owner.clone(), owned }))
}
