//! The text of a generated model: item types with all kinds of keys and fields, references among them, and
//! lists, counts, mutations and subscriptions over them. A model has an account type in nine of ten cases.

use std::fmt::Write as _;

use onehop_study::rng::{Stream, StreamRng};

/// The stream of models.
const MODELS: Stream = Stream(0x6d6f_6465_6c73);
/// The names of item types, in the order in which they refer to each other.
const NAMES: [&str; 6] = ["Alpha", "Bravo", "Carol", "Delta", "Echo", "Fox"];
/// Stored fields: kind, type, directives. `#` stands for the name of the field.
const STORED: [(&str, &str, &str); 26] = [
    ("text", "String!", ""),
    ("text", "String!", "@length(min: 1, max: 60)"),
    ("text", "String!", "@stored(as: \"/texts/#\")"),
    ("optText", "String", ""),
    ("optText", "String", "@pattern(is: \"[a-z]{1,8}\")"),
    ("int", "Int!", "@range(min: 0, max: 50)"),
    ("int", "Int!", "@range(min: 0, max: 50) @default(value: 3)"),
    ("int", "Int!", "@range(min: -9, max: 9) @default(value: 0)"),
    ("int", "Int!", "@range(min: 0, max: 50) @default(value: 3, sparse: true)"),
    ("int", "Int!", "@range(min: 0, max: 50) @stored(as: \"/numbers/more/#\")"),
    ("optInt", "Int", ""),
    ("real", "Float!", ""),
    ("flag", "Boolean!", "@default(value: true)"),
    ("flag", "Boolean!", "@default(value: false, sparse: true)"),
    ("time", "DateTime!", "@created"),
    ("time", "DateTime!", "@stored(format: EPOCH_MILLIS)"),
    ("optTime", "DateTime", "@updated"),
    ("decimal", "Decimal!", ""),
    ("number", "Decimal!", "@stored(format: NUMBER)"),
    ("color", "Color!", ""),
    ("color", "Color!", "@default(value: RED)"),
    ("texts", "[String!]!", "@length(max: 4)"),
    ("money", "Money!", "@money(currency: \"#Currency\")"),
    ("detail", "Detail", ""),
    ("parts", "[Part!]!", "@length(max: 3)"),
    ("id", "ID!", ""),
];

/// A field of a type.
#[derive(Clone)]
struct Declared {
    name: String,
    kind: &'static str,
    of: String,
    directives: String,
}

impl Declared {
    fn is_ordered(&self) -> bool {
        matches!(
            self.kind,
            "text" | "optText" | "int" | "optInt" | "real" | "time" | "optTime" | "number" | "id"
        )
    }

    fn is_copied(&self) -> bool {
        !matches!(self.kind, "reference" | "computed")
    }

    /// Whether lists may have an entry under its value.
    fn is_argument(&self) -> bool {
        matches!(self.kind, "int" | "flag" | "color" | "texts" | "text")
            && !self.directives.contains("as: \"/")
    }
}

/// The key of a type.
#[derive(Clone, Copy, PartialEq)]
enum Home {
    Id,
    Type,
    /// The logical partition of an earlier type.
    Parent(usize),
    Region,
    RegionAndId,
    ParentAndId(usize),
}

struct ItemType {
    name: &'static str,
    home: Home,
    fields: Vec<Declared>,
    related: Vec<String>,
    has_caller: bool,
    is_updated: bool,
}

impl ItemType {
    fn camel(&self) -> String {
        self.name.to_lowercase()
    }

    /// Whether its items are found by their ids alone.
    fn is_found_by_id(&self) -> bool {
        matches!(self.home, Home::Id | Home::Type)
    }

    fn container(&self) -> String {
        self.camel() + "s"
    }
}

struct Writer {
    random: StreamRng,
    types: Vec<ItemType>,
    containers: Vec<(String, String)>,
    heads: Vec<String>,
    queries: Vec<String>,
    mutations: Vec<String>,
    subscriptions: Vec<String>,
    has_account: bool,
    lists: usize,
}

/// The text of the model with this number.
pub fn model_text(seed: u64) -> String {
    let mut writer = Writer {
        random: StreamRng::new(seed, MODELS, 0),
        types: Vec::new(),
        containers: Vec::new(),
        heads: Vec::new(),
        queries: Vec::new(),
        mutations: Vec::new(),
        subscriptions: Vec::new(),
        has_account: true,
        lists: 0,
    };
    writer.has_account = writer.chance(90);
    let types = 3 + writer.below(NAMES.len() - 2);
    for name in &NAMES[..types] {
        writer.add_type(name);
    }
    for place in 0..types {
        writer.add_lists(place);
    }
    writer.text(seed)
}

impl Writer {
    fn below(&mut self, end: usize) -> usize {
        self.random.below_u64(end.max(1) as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn one_of<T: Clone>(&mut self, values: &[T]) -> Option<T> {
        if values.is_empty() { None } else { Some(values[self.below(values.len())].clone()) }
    }

    fn add_container(&mut self, name: &str, key: &str) {
        if self.containers.iter().all(|(known, _)| known != name) {
            self.containers.push((name.to_owned(), key.to_owned()));
        }
    }

    /// Earlier types of which this is true.
    fn types_that(&self, is_wanted: impl Fn(&ItemType) -> bool) -> Vec<usize> {
        (0..self.types.len()).filter(|place| is_wanted(&self.types[*place])).collect()
    }

    fn home(&mut self) -> Home {
        if self.types.is_empty() {
            return Home::Id;
        }
        let parents = self.types_that(|ty| ty.home == Home::Id);
        let parent = self.one_of(&parents).unwrap_or_default();
        let homes = [
            Home::Id,
            Home::Id,
            Home::Type,
            Home::Parent(parent),
            Home::Parent(parent),
            Home::Region,
            Home::RegionAndId,
            Home::ParentAndId(parent),
        ];
        self.one_of(&homes).unwrap_or(Home::Id)
    }

    fn add_type(&mut self, name: &'static str) {
        let home = self.home();
        let is_account = self.types.is_empty() && self.has_account;
        let mut ty = ItemType {
            name,
            home,
            fields: Vec::new(),
            related: Vec::new(),
            has_caller: false,
            is_updated: true,
        };
        let (camel, own) = (ty.camel(), ty.container());
        let mut field = |name: &str, kind, of: &str, directives: &str| {
            let (name, of, directives) = (name.to_owned(), of.to_owned(), directives.to_owned());
            ty.fields.push(Declared { name, kind, of, directives });
        };
        let region = ("region", "key", "String!", "@length(min: 1, max: 2) @immutable");
        let (container, key, partition) = match home {
            Home::Id => (own, format!("\"/{camel}Id\""), "\"id\"".to_owned()),
            Home::Type => (own, "\"/type\"".to_owned(), String::new()),
            Home::Region => {
                field(region.0, region.1, region.2, region.3);
                (own, "\"/region\"".to_owned(), String::new())
            }
            Home::RegionAndId => {
                field(region.0, region.1, region.2, region.3);
                (own, "[\"/region\", \"/id\"]".to_owned(), "[\"region\", \"id\"]".to_owned())
            }
            Home::Parent(parent) => {
                let parent = &self.types[parent];
                (parent.container(), String::new(), format!("\"{}\"", parent.camel()))
            }
            Home::ParentAndId(parent) => {
                let parent = self.types[parent].camel();
                let key = format!("[\"/{parent}Id\", \"/{camel}Id\"]");
                (own, key, format!("[\"{parent}\", \"id\"]"))
            }
        };
        self.add_container(&container, &key);
        let mut directives = String::new();
        if let Home::Parent(parent) | Home::ParentAndId(parent) = home {
            self.add_reference(&mut ty, parent, None);
            if matches!(home, Home::Parent(_)) && (parent > 0 || !self.has_account) && self.chance(60) {
                let _ = write!(directives, " @owned(by: \"{}\")", self.types[parent].camel());
            }
        }
        if self.has_account && !is_account && self.chance(70) {
            ty.has_caller = true;
            let copies = self.copies(0);
            self.push(&mut ty, "by", "reference", "Alpha!", &format!("@reference @caller{copies}"));
        }
        let targets = self.types_that(ItemType::is_found_by_id);
        for number in 0..self.below(3) {
            let Some(target) = self.one_of(&targets) else { continue };
            self.add_reference(&mut ty, target, Some(number));
        }
        self.add_stored(&mut ty, is_account);
        let writes = if is_account {
            "UPDATE"
        } else {
            self.one_of(&["CREATE, UPDATE, DELETE", "CREATE, UPDATE"]).unwrap_or_default()
        };
        let id_from = match home {
            // Two types with such ids in one container would share them.
            Home::Parent(parent) if ty.has_caller && !self.has_derived_ids(parent) && self.chance(40) => {
                format!(", idFrom: [\"{}\", \"by\"]", self.types[parent].camel())
            }
            _ => String::new(),
        };
        let partition = if partition.is_empty() { partition } else { format!(", partition: {partition}") };
        if is_account {
            directives += " @account(login: \"login\") @auth(on: UPDATE, allow: OWNER, owner: \"id\")";
        } else if !self.has_account {
            directives += " @auth(on: [CREATE, UPDATE, DELETE], allow: PUBLIC)";
        } else if !ty.has_caller {
            directives += " @auth(on: [UPDATE, DELETE], allow: SIGNED_IN)";
        }
        let is_owned = directives.contains("@owned");
        if !is_account && !is_owned && self.chance(25) {
            let by = ["SOFT, path: \"/meta/gone\", is: \"yes\"", "SOFT, ttl: 600", "TTL", "ALL_VERSIONS"];
            let _ = write!(directives, " @deletes(by: {})", self.one_of(&by).unwrap_or_default());
        }
        self.heads.push(format!(
            "type {name} @item(container: \"{container}\"{partition}{id_from}, write: [{writes}]){directives}"
        ));
        self.types.push(ty);
    }

    fn has_derived_ids(&self, parent: usize) -> bool {
        let of_parent = self.types.iter().zip(&self.heads).filter(|(ty, _)| ty.home == Home::Parent(parent));
        of_parent.into_iter().any(|(_, head)| head.contains("idFrom"))
    }

    fn push(&self, ty: &mut ItemType, name: &str, kind: &'static str, of: &str, directives: &str) {
        let (name, of, directives) = (name.to_owned(), of.to_owned(), directives.to_owned());
        ty.fields.push(Declared { name, kind, of, directives });
    }

    /// Copies of one or two fields of a type, or none.
    fn copies(&mut self, target: usize) -> String {
        let fields: Vec<_> =
            self.types[target].fields.iter().filter(|field| field.is_copied()).cloned().collect();
        let (Some(one), Some(other)) = (self.one_of(&fields), self.one_of(&fields)) else {
            return String::new();
        };
        match self.below(3) {
            0 => String::new(),
            1 => format!(" @copy(fields: [\"{}\"])", one.name),
            _ if one.name == other.name => format!(" @copy(fields: [\"{}\"])", one.name),
            _ => format!(" @copy(fields: [\"{}\", \"{}\"])", one.name, other.name),
        }
    }

    /// A reference to the parent, or one with a number.
    fn add_reference(&mut self, ty: &mut ItemType, target: usize, number: Option<usize>) {
        let (of, copies) = (self.types[target].name, self.copies(target));
        match number {
            None => self.push(
                ty,
                &self.types[target].camel(),
                "reference",
                &format!("{of}!"),
                &format!("@reference{copies}"),
            ),
            Some(number) => {
                let name = format!("link{number}");
                let (of, length) = match self.below(3) {
                    0 => (format!("[{of}!]!"), " @length(max: 3)"),
                    1 => (format!("{of}!"), ""),
                    _ => (of.to_owned(), ""),
                };
                self.push(ty, &name, "reference", &of, &format!("@reference{copies}{length}"));
            }
        }
    }

    fn add_stored(&mut self, ty: &mut ItemType, is_account: bool) {
        if is_account {
            let normal = self.one_of(&["EMAIL", "USERNAME", "LOWER", "EXACT"]).unwrap_or_default();
            self.push(ty, "login", "unique", "String!", &format!("@unique(normalize: {normal})"));
        }
        for number in 0..2 + self.below(6) {
            let Some((kind, of, directives)) = self.one_of(&STORED) else { continue };
            let name = format!("{kind}{number}");
            let directives = directives.replace('#', &name);
            self.push(ty, &name, kind, of, &directives);
        }
        if self.chance(40) {
            let of = self.one_of(&["String", "String!"]).unwrap_or_default();
            let normal = self.one_of(&["LOWER", "EXACT"]).unwrap_or_default();
            self.push(ty, "code", "unique", of, &format!("@unique(normalize: {normal})"));
        }
        let texts: Vec<_> = ty.fields.iter().filter(|field| field.kind == "text").cloned().collect();
        if let Some(text) = self.one_of(&texts) {
            let from = text.name;
            let functions = [
                format!("LOWER, from: \"{from}\""),
                format!("SAME, from: \"{from}\", stored: true"),
                format!("EXCERPT, from: \"{from}\", length: 10"),
            ];
            let function = self.one_of(&functions).unwrap_or_default();
            self.push(ty, "derived", "computed", "String!", &format!("@computed(by: {function})"));
            self.push(ty, "revision", "version", "Int!", &format!("@version(of: [\"{from}\"])"));
        }
    }

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

    fn add_lists(&mut self, place: usize) {
        let (name, camel) = (self.types[place].name, self.types[place].camel());
        let expires = self.heads[place].contains("by: TTL");
        if let Home::Parent(parent) = self.types[place].home {
            self.add_children(place, parent, expires);
        }
        let references: Vec<Declared> =
            self.types[place].fields.iter().filter(|field| field.kind == "reference").cloned().collect();
        for reference in references {
            self.add_back_list(place, &reference);
        }
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
        if let Some(number) = self.one_of(&numbers).filter(|_| self.types[place].is_updated) {
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
            let kept = if condition.is_empty() && !expires && self.chance(70) { "" } else { ", kept: QUERY" };
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
        } else if !reference.of.starts_with('[') && self.chance(40) {
            let find = format!("{list}: [{name}!]! @find(by: \"{by}\"){condition}{order}{page}");
            self.types[target].related.push(find);
        }
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

    fn text(&self, seed: u64) -> String {
        let mut text = format!("extend schema\n  @model(name: \"generated{seed}\", version: 1)\n");
        for (name, key) in &self.containers {
            let _ = writeln!(text, "  @container(name: \"{name}\", key: {key})");
        }
        for (ty, head) in self.types.iter().zip(&self.heads) {
            let _ = writeln!(text, "{head} {{\n  id: ID!");
            for Declared { name, of, directives, .. } in &ty.fields {
                let _ = writeln!(text, "  {name}: {of} {directives}");
            }
            for related in &ty.related {
                let _ = writeln!(text, "  {related}");
            }
            text.push_str("}\n");
        }
        text.push_str("type Detail @embedded { city: String! @length(max: 30) zip: String color: Color }\n");
        text.push_str("type Part @embedded { label: String! units: Int! @range(min: 1, max: 9) }\n");
        text.push_str("enum Color { RED @stored(as: \"r\") GREEN BLUE }\n");
        let roots =
            [("Query", &self.queries), ("Mutation", &self.mutations), ("Subscription", &self.subscriptions)];
        for (root, fields) in roots {
            if !fields.is_empty() {
                let _ = writeln!(text, "type {root} {{\n  {}\n}}", fields.join("\n  "));
            }
        }
        text
    }
}
