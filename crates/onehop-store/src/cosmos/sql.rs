//! The closed set of query shapes as parametrised SQL. No value is ever part of a text.

use azure_data_cosmos::Query as SqlQuery;

use crate::order_value::{properties_of_order, split_order_value, value_in_order};
use crate::query_names::property_text as property;
use crate::{ContainerSpec, Direction, Fault, FaultKind, Keyset, limits};

/// Items that are not soft-deleted.
const LIVE: &str = " AND (NOT IS_DEFINED(c.deleted) OR c.deleted = false)";

/// The parameters with the values of an order's properties.
const ORDER_PARAMETERS: [&str; limits::ORDER_PROPERTIES_MAX] =
    ["@order", "@order2", "@order3", "@order4", "@order5", "@order6"];

/// A text and its parameters.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sql {
    pub text: String,
    parameters: Vec<(&'static str, serde_json::Value)>,
}

/// The common parts of the shapes of a query.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueryShape<'a> {
    pub item_type: &'a str,
    /// A property and its value.
    pub equality: Option<(&'static str, &'a str)>,
    /// The order; `None` for the order by id.
    pub order_by: Option<&'static str>,
    pub direction: Direction,
    pub after: Option<&'a Keyset>,
    /// One more than is wanted, to know whether there is more.
    pub top: usize,
}

impl Sql {
    /// A page of items, in an order of their type and then by id. The order begins with the type, although
    /// all items have the same: the service uses a composite index for a filter and an order only if the
    /// filtered property leads both.
    pub(super) fn page(spec: &ContainerSpec, shape: QueryShape<'_>) -> Self {
        let mut sql = Self::new(spec, "SELECT TOP @top * FROM c", shape.item_type);
        sql.add("@top", shape.top.into());
        if let Some((path, value)) = shape.equality {
            sql.text.push_str(&format!(" AND {} = @value", property(path)));
            sql.add("@value", value.into());
        }
        if let Some(after) = shape.after {
            sql.go_on_after(shape.order_by, shape.direction, after);
        }
        let mut orders: Vec<(String, Direction)> = Vec::new();
        if let Some(order) = shape.order_by {
            orders.push((property("type"), shape.direction));
            orders.extend(directions(order, shape.direction));
        }
        orders.push((property("id"), shape.direction));
        let orders: Vec<String> = orders
            .into_iter()
            .map(|(property, direction)| match direction {
                Direction::OldestFirst => format!("{property} ASC"),
                Direction::NewestFirst => format!("{property} DESC"),
            })
            .collect();
        sql.text.push_str(&format!(" ORDER BY {}", orders.join(", ")));
        sql
    }

    /// The number of items of a type.
    pub(super) fn count(spec: &ContainerSpec, item_type: &str) -> Self {
        Self::new(spec, "SELECT VALUE COUNT(1) FROM c", item_type)
    }

    fn new(spec: &ContainerSpec, select: &str, item_type: &str) -> Self {
        let live = if spec.soft_deletes { LIVE } else { "" };
        let text = format!("{select} WHERE c.type = @type{live}");
        Self { text, parameters: vec![("@type", item_type.into())] }
    }

    fn add(&mut self, name: &'static str, value: serde_json::Value) {
        self.parameters.push((name, value));
    }

    /// Restricts the query to items after a place in the order. Items without the order's property come
    /// before all others, and their place has an empty value; a list with such items and some whose value is
    /// empty cannot be paged through.
    fn go_on_after(&mut self, order_by: Option<&str>, direction: Direction, after: &Keyset) {
        let sign = match direction {
            Direction::OldestFirst => '>',
            Direction::NewestFirst => '<',
        };
        self.add("@id", after.id.as_str().into());
        let Some(order) = order_by else {
            self.text.push_str(&format!(" AND c.id {sign} @id"));
            return;
        };
        let values = split_order_value(order, &after.order_value);
        let properties: Vec<_> = directions(order, direction).zip(values).zip(ORDER_PARAMETERS).collect();
        // From the last property on: behind its value, or at it and behind in the properties that follow.
        let mut predicate = format!("c.id {sign} @id");
        for (((order, direction), value), name) in properties.into_iter().rev() {
            predicate = match (value.is_empty(), direction) {
                (true, Direction::OldestFirst) => {
                    format!(
                        "((IS_DEFINED({order}) AND ({order} != '' OR IS_NUMBER({order}))) OR {predicate})"
                    )
                }
                (true, Direction::NewestFirst) => {
                    format!("((NOT IS_DEFINED({order}) OR {order} = '') AND {predicate})")
                }
                (false, Direction::OldestFirst) => {
                    format!("({order} > {name} OR ({order} = {name} AND {predicate}))")
                }
                (false, Direction::NewestFirst) => {
                    let behind = format!("{order} < {name} OR ({order} = {name} AND {predicate})");
                    format!("({behind} OR NOT IS_DEFINED({order}))")
                }
            };
            if !value.is_empty() {
                self.add(name, value_in_order(&value));
            }
        }
        self.text.push_str(&format!(" AND {predicate}"));
    }

    /// The query as the client takes it.
    ///
    /// # Errors
    /// Never for texts and numbers.
    pub(super) fn into_query(self) -> Result<SqlQuery, Fault> {
        let mut query = SqlQuery::from(self.text);
        for (name, value) in self.parameters {
            query = query.with_parameter(name, value).map_err(|error| {
                Fault::new(FaultKind::Internal, "a parameter cannot be written").with_source(error)
            })?;
        }
        Ok(query)
    }
}

/// The properties of an order, each with its own direction.
fn directions(order: &str, direction: Direction) -> impl Iterator<Item = (String, Direction)> {
    properties_of_order(order).map(move |ordered| {
        let direction = if ordered.is_reversed { direction.reversed() } else { direction };
        (property(ordered.name), direction)
    })
}

/// One more than is wanted, to know whether there is more.
pub(super) fn top(limit: usize) -> usize {
    limit.min(limits::PAGE_ITEMS_MAX) + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ContainerName;

    const POSTS: ContainerSpec = ContainerSpec {
        name: ContainerName("posts"),
        partition_key: "postId",
        order_by: Some("creationDate"),
        orders: &[],
        ttl_s: None,
        equality: &["userId"],
        newest_types: &["post"],
        soft_deletes: true,
    };
    const LEASES: ContainerSpec = ContainerSpec {
        order_by: None,
        orders: &[],
        ttl_s: None,
        equality: &["processor"],
        soft_deletes: false,
        ..POSTS
    };

    fn description(sql: &Sql) -> String {
        let parameters: Vec<String> =
            sql.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{}\n  {}\n", sql.text, parameters.join(" "))
    }

    #[test]
    fn every_shape_has_its_text() {
        let place = Keyset { order_value: "2026-01-02".to_owned(), id: "7".to_owned() };
        let dateless = Keyset { order_value: String::new(), id: "7".to_owned() };
        let shape = |direction, after, equality| QueryShape {
            item_type: "post",
            equality,
            order_by: Some("creationDate"),
            direction,
            after,
            top: 21,
        };
        let by_user = Some(("userId", "u"));
        let (oldest, newest) = (Direction::OldestFirst, Direction::NewestFirst);
        let mut texts = String::new();
        for (spec, shape) in [
            (&POSTS, shape(oldest, None, None)),
            (&POSTS, shape(newest, None, None)),
            (&POSTS, shape(oldest, Some(&place), None)),
            (&POSTS, shape(newest, Some(&place), None)),
            (&POSTS, shape(oldest, Some(&dateless), None)),
            (&POSTS, shape(newest, Some(&dateless), None)),
            (&POSTS, shape(newest, None, by_user)),
            (&POSTS, shape(newest, Some(&place), by_user)),
            (&LEASES, QueryShape { order_by: None, ..shape(oldest, None, Some(("processor", "p"))) }),
            (&LEASES, QueryShape { order_by: None, ..shape(oldest, Some(&place), None) }),
        ] {
            texts.push_str(&description(&Sql::page(spec, shape)));
        }
        texts.push_str(&description(&Sql::count(&POSTS, "like")));
        insta::assert_snapshot!(texts);
    }

    #[test]
    fn an_order_of_several_properties_has_directions_of_its_own() {
        let order = "-rank,title";
        let values = [("rank", serde_json::json!(7)), ("title", serde_json::json!("A"))];
        let get = |name: &str| values.iter().find(|(own, _)| *own == name).map(|(_, value)| value);
        let after = Keyset { order_value: crate::order_value_of(order, get), id: "7".to_owned() };
        let shape = QueryShape {
            item_type: "post",
            equality: None,
            order_by: Some(order),
            direction: Direction::OldestFirst,
            after: Some(&after),
            top: 21,
        };
        let text = description(&Sql::page(&LEASES, shape));
        let expected = "SELECT TOP @top * FROM c WHERE c.type = @type \
            AND (c.rank < @order OR (c.rank = @order AND (c.title > @order2 OR (c.title = @order2 AND c.id > @id))) \
            OR NOT IS_DEFINED(c.rank)) ORDER BY c.type ASC, c.rank DESC, c.title ASC, c.id ASC\n  \
            @type=\"post\" @top=21 @id=\"7\" @order2=\"A\" @order=7\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_keyword_and_an_odd_name_stand_in_brackets() {
        assert_eq!(property("order"), "c[\"order\"]");
        assert_eq!(property("/contact/value"), "c.contact[\"value\"]");
        assert_eq!(property("/contact/e-mail"), "c.contact[\"e-mail\"]");
    }

    #[test]
    fn a_value_is_never_part_of_the_text() {
        let evil = "x' OR 1=1 --";
        let after = Keyset { order_value: evil.to_owned(), id: evil.to_owned() };
        let shape = QueryShape {
            item_type: evil,
            equality: Some(("userId", evil)),
            order_by: Some("creationDate"),
            direction: Direction::NewestFirst,
            after: Some(&after),
            top: 2,
        };
        assert!(!Sql::page(&POSTS, shape).text.contains(evil));
        assert!(!Sql::count(&POSTS, evil).text.contains(evil));
    }
}
