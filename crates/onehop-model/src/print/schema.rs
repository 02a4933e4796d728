//! Text of the schema: the domain and its containers.

use super::directive::DirectiveText;
use crate::value::{Container, Keyword, Model, Place, PropertyPath, quoted};

/// The schema extension.
pub(super) fn schema(model: &Model) -> String {
    let domain = DirectiveText::new("model")
        .text("name", model.name())
        .optional_text("design", model.design())
        .optional("version", Some(model.version()).filter(|version| *version != 1))
        .optional_text("description", model.description());
    let mut text = format!("extend schema\n  {}\n", domain.build());
    for container in model.containers() {
        text.push_str(&format!("  {}\n", self::container(container)));
    }
    text
}

fn slashed(paths: &[PropertyPath]) -> Vec<String> {
    paths.iter().map(PropertyPath::slashed).collect()
}

fn container(container: &Container) -> String {
    let place = Some(container.place).filter(|place| *place != Place::Account);
    let indexes = container.composite.as_ref().map(|indexes| {
        let index = |index: &Vec<PropertyPath>| {
            let paths: Vec<String> = slashed(index).iter().map(|path| quoted(path)).collect();
            format!("[{}]", paths.join(", "))
        };
        format!("[{}]", indexes.iter().map(index).collect::<Vec<_>>().join(", "))
    });
    DirectiveText::new("container")
        .text("name", &*container.name)
        .texts("key", &slashed(&container.key))
        .optional("place", place.map(Keyword::name))
        .flag("followed", container.followed)
        .optional("ttl", container.ttl_seconds)
        .texts("exclude", &slashed(&container.exclude))
        .optional("composite", indexes)
        .build()
}
