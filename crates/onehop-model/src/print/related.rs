//! Text of related items: source, conditions, order and pages.

use super::directive::DirectiveText;
use crate::defaults::PAGE;
use crate::value::{Condition, FieldTest, ListSource, Page, RelatedField, RelatedSource};

/// The directives of a field with related items. `place` is the default name of a list.
pub(super) fn related(related: &RelatedField, default_type: &str, place: &str) -> Vec<String> {
    let source = match &related.source {
        RelatedSource::Partition { by } => DirectiveText::new("partition").texts("by", by).build(),
        RelatedSource::Find { by, through } => DirectiveText::new("find")
            .optional_text("by", by.as_ref())
            .optional_text("through", through.as_ref().map(|link| &link.item_type))
            .build(),
        RelatedSource::List(list) => self::list(list, default_type, place),
    };
    let mut directives = vec![source];
    directives.extend(conditions(&related.conditions));
    directives.extend(related.order.iter().map(|order| {
        DirectiveText::new("order").text("by", &order.field).flag("desc", order.descending).build()
    }));
    directives.extend(page(&related.page));
    directives
}

fn list(list: &ListSource, default_type: &str, place: &str) -> String {
    DirectiveText::new("list")
        .text("into", &*list.container)
        .texts("by", &list.by)
        .texts_in_brackets("fields", &list.fields)
        .optional("keep", list.keep)
        .optional_text("type", Some(&list.entry_type).filter(|it| *it != default_type))
        .optional_text("name", Some(&list.projection).filter(|name| *name != place))
        .build()
}

/// `@where` for each condition.
pub(super) fn conditions(conditions: &[Condition]) -> Vec<String> {
    let text = |condition: &Condition| {
        let text = DirectiveText::new("where").text("field", &condition.field);
        match &condition.test {
            FieldTest::Is(value) => text.raw("is", value),
            FieldTest::In(values) => text.literals("in", values),
            FieldTest::Exists(exists) => text.raw("exists", exists),
            FieldTest::AtLeast(value) => text.raw("atLeast", value),
            FieldTest::Below(value) => text.raw("below", value),
        }
        .build()
    };
    conditions.iter().map(text).collect()
}

fn page(page: &Page) -> Option<String> {
    if *page == PAGE {
        return None;
    }
    let first = Some(page.first).filter(|first| *first != PAGE.first.min(page.max));
    let text = DirectiveText::new("page").optional("first", first);
    let text = text.optional("max", Some(page.max).filter(|max| *max != PAGE.max));
    Some(if page.connection { text.build() } else { text.raw("connection", false).build() })
}
