//! Lists, counts, mutations and subscriptions over the types of a generated model.

use std::fmt::Write as _;

use super::model_text::{Declared, Home, NAMES, Writer};

impl Writer {
    fn order(&mut self, ty: usize) -> String {
        let fields: Vec<_> =
            self.types[ty].fields.iter().filter(|field| field.is_ordered()).cloned().collect();
        let (Some(first), Some(second)) = (self.one_of(&fields), self.one_of(&fields)) else {
            return String::new();
        };
        let descending = if self.chance(50) { ", desc: true" } else { "" };
        let mut order = format!(" @order(by: \"{}\"{descending})", first.name);
        if first.name != second.name && self.chance(25) {
            let _ = write!(order, " @order(by: \"{}\")", second.name);
        }
        order
    }

    fn condition(&mut self, ty: usize, percent: usize) -> String {
        if !self.chance(percent) {
            return String::new();
        }
        let mut tests = Vec::new();
        for Declared { name, kind, .. } in &self.types[ty].fields {
            match *kind {
                "int" => tests.extend([format!("\"{name}\", atLeast: 2"), format!("\"{name}\", below: 20")]),
                "flag" => tests.push(format!("\"{name}\", is: true")),
                "color" => tests.push(format!("\"{name}\", in: [RED, BLUE]")),
                "optText" | "optInt" => {
                    tests.extend([format!("\"{name}\", exists: true"), format!("\"{name}\", exists: false")]);
                }
                _ => {}
            }
        }
        self.one_of(&tests).map(|test| format!(" @where(field: {test})")).unwrap_or_default()
    }

    fn page(&mut self) -> &'static str {
        let pages = ["", "", " @page(first: 3, max: 20)", " @page(connection: false, max: 20)"];
        self.one_of(&pages).unwrap_or_default()
    }

    /// The fields of entries.
    fn fields(&mut self, ty: usize) -> String {
        let all: Vec<String> = self.types[ty]
            .fields
            .iter()
            .filter(|field| field.kind != "version")
            .map(|field| field.name.clone())
            .collect();
        let mut chosen: Vec<String> = Vec::new();
        for _ in 0..self.below(5) {
            let field = self.one_of(&all).filter(|field| !chosen.contains(field));
            chosen.extend(field.map(|field| format!("\"{field}\"")));
        }
        chosen.sort();
        chosen.dedup();
        if self.chance(20) { String::new() } else { format!(", fields: [{}]", chosen.join(", ")) }
    }

    fn subscribe(&mut self, name: &str, argument: &str, of: &str, list: &str, percent: usize) {
        if self.chance(percent) {
            let on =
                self.one_of(&["ADDED", "[ADDED, CHANGED]", "[ADDED, CHANGED, REMOVED]"]).unwrap_or_default();
            self.subscriptions.push(format!("{name}Events{argument}: {of}! @live(of: \"{list}\", on: {on})"));
        }
    }

    pub(super) fn add_lists(&mut self, place: usize) {
        let (name, camel) = (self.types[place].name, self.types[place].camel());
        let expires = self.heads[place].contains("by: TTL");
        if let Home::Parent(parent) = self.types[place].home {
            self.add_children(place, parent, expires);
        }
        let references: Vec<Declared> =
            self.types[place].fields.iter().filter(|field| field.kind == "reference").cloned().collect();
        for reference in &references {
            self.add_back_list(place, reference);
        }
        self.add_linked(place, &references);
        self.queries.push(format!("{camel}(id: ID!): {name}"));
        if self.chance(40) {
            let (condition, order, page) = (self.condition(place, 30), self.order(place), self.page());
            self.queries.push(format!("all{name}: [{name}!]! @find{condition}{order}{page}"));
        }
        for _ in 0..self.below(3) {
            self.add_root_list(place, expires);
        }
        if !self.heads[place].contains("by: TTL") && self.chance(40) {
            self.add_list_by_values(place);
        }
        let is_unique = |field: &&Declared| field.kind == "unique";
        let unique: Vec<String> =
            self.types[place].fields.iter().filter(is_unique).map(|field| field.name.clone()).collect();
        for field in unique {
            self.queries.push(format!("{camel}By{field}({field}: String!): {name}"));
        }
        if self.chance(30) {
            self.subscriptions.push(format!("{camel}Changed(id: ID!): {name}! @live(on: CHANGED)"));
        }
        let numbers: Vec<_> =
            self.types[place].fields.iter().filter(|field| field.kind == "int").cloned().collect();
        if let Some(number) = self.one_of(&numbers) {
            let condition = self.condition(place, 50);
            let writes = format!("@writes(action: UPDATE, fields: [\"{}\"])", number.name);
            self.mutations.push(format!("edit{name}: {name} {writes}{condition}"));
        }
    }

    /// The items of a type in the logical partition of its parent.
    fn add_children(&mut self, place: usize, parent: usize, expires: bool) {
        let (name, list) = (self.types[place].name, self.types[place].camel() + "Items");
        let by = self.types[parent].camel();
        let (condition, order, page) = (self.condition(place, 25), self.order(place), self.page());
        let mut related =
            vec![format!("{list}: [{name}!]! @partition(by: \"{by}\"){condition}{order}{page}")];
        if self.chance(70) {
            let kept = match self.one_of(&["", "", ", kept: BEHIND", ", kept: QUERY"]) {
                Some(kept) if !expires => kept,
                _ => ", kept: QUERY",
            };
            related.push(format!("{list}Count: Int! @count(of: \"{list}\"{kept})"));
        }
        if self.heads[place].contains("idFrom") {
            related.push(format!("{list}Mine: Boolean! @caller(in: \"{list}\")"));
        }
        self.types[parent].related.extend(related);
        let argument = format!("({by}Id: ID!)");
        let on = format!("{}.{list}", self.types[parent].name);
        self.subscribe(&list, &argument, name, &on, if expires { 0 } else { 40 });
    }

    /// The items that refer to another one by this reference, as a list or a query.
    fn add_back_list(&mut self, place: usize, reference: &Declared) {
        let name = self.types[place].name;
        let target = reference.of.trim_matches(|character: char| !character.is_ascii_alphanumeric());
        let Some(target) = NAMES.iter().position(|name| *name == target) else { return };
        let by = &reference.name;
        let list = format!("{}Of{by}", self.types[place].camel());
        let expires = self.heads[place].contains("by: TTL");
        let (condition, order, page) = (self.condition(place, 30), self.order(place), self.page());
        if self.chance(45) {
            self.lists += 1;
            let container = format!("list{}", self.lists);
            self.add_container(&container, "\"/k\"");
            let fields = self.fields(place);
            let keep = if !order.is_empty() && self.chance(25) { ", keep: 3" } else { "" };
            let source =
                format!("@list(into: \"{container}\", by: \"{by}\"{keep}{fields}, type: \"{list}\")");
            self.types[target].related.push(format!("{list}: [{name}!]! {source}{condition}{order}{page}"));
            if keep.is_empty() && !expires && self.chance(40) {
                let kept = self.one_of(&["BEHIND, within: 5", "QUERY"]).unwrap_or_default();
                let count = format!("{list}Count: Int! @count(of: \"{list}\", kept: {kept})");
                self.types[target].related.push(count);
            }
            let (argument, on) =
                (format!("({}Id: ID!)", self.types[target].camel()), format!("{}.{list}", NAMES[target]));
            self.subscribe(&list, &argument, name, &on, 30);
        } else if self.chance(40) {
            let is_seen = !expires && !self.heads[place].contains("by: HARD");
            if reference.of.starts_with('[') && !is_seen {
                return;
            }
            let find = format!("{list}: [{name}!]! @find(by: \"{by}\"){condition}{order}{page}");
            self.types[target].related.push(find);
            if is_seen && self.chance(40) {
                let count = format!("{list}Count: Int! @count(of: \"{list}\", kept: BEHIND)");
                self.types[target].related.push(count);
            }
        }
    }

    /// The items behind a type with two references, as a link between their targets.
    fn add_linked(&mut self, place: usize, references: &[Declared]) {
        let [one, other] = references else { return };
        let target = |reference: &Declared| {
            let name = reference.of.trim_end_matches('!');
            NAMES.iter().position(|known| *known == name)
        };
        let (Some(from), Some(to)) = (target(one), target(other)) else { return };
        // A link leads from one type to another.
        if from == to || !self.chance(60) {
            return;
        }
        let (link, name, order) = (self.types[place].name, self.types[to].name, self.order(to));
        let field = format!("{}By{link}", self.types[to].camel());
        let kept = if self.chance(50) { "QUERY" } else { "BEHIND" };
        let find = format!("@find(by: \"{}\", through: \"{link}\")", one.name);
        let count = format!("{field}Count: Int! @count(of: \"{field}\", kept: {kept})");
        self.types[from].related.extend([format!("{field}: [{name}!]! {find}{order}"), count]);
    }

    /// A list of all items, or of some, under `Query`.
    fn add_root_list(&mut self, place: usize, expires: bool) {
        let name = self.types[place].name;
        self.lists += 1;
        let number = self.lists;
        let container = if self.chance(60) { "board".to_owned() } else { format!("board{number}") };
        self.add_container(&container, "\"/type\"");
        let order = self.order(place);
        let keep = if !order.is_empty() && self.chance(40) { ", keep: 4" } else { "" };
        let (fields, condition, page) = (self.fields(place), self.condition(place, 50), self.page());
        let source = format!("@list(into: \"{container}\"{keep}{fields}, type: \"entry{number}\")");
        self.queries.push(format!("list{number}: [{name}!]! {source}{condition}{order}{page}"));
        let on = format!("Query.list{number}");
        self.subscribe(&format!("list{number}"), "", name, &on, if expires { 0 } else { 40 });
    }

    /// A list under `Query` whose arguments are values.
    fn add_list_by_values(&mut self, place: usize) {
        let name = self.types[place].name;
        let fields: Vec<_> =
            self.types[place].fields.iter().filter(|field| field.is_argument()).cloned().collect();
        let Some(field) = self.one_of(&fields) else { return };
        self.lists += 1;
        let number = self.lists;
        self.add_container(&format!("values{number}"), &format!("\"/k{number}\""));
        let of = field.of.trim_matches(|character: char| !character.is_ascii_alphanumeric());
        let (entries, condition) = (self.fields(place), self.condition(place, 20));
        let (order, page) = (self.order(place), self.page());
        let source = format!("@list(into: \"values{number}\", by: \"{}\"{entries})", field.name);
        self.queries.push(format!("by{number}(value: {of}!): [{name}!]! {source}{condition}{order}{page}"));
    }
}
