//! The text of a generated model: item types with all kinds of keys and fields, references among them, and
//! lists, counts, mutations and subscriptions over them. A model has an account type in nine of ten cases.

use std::fmt::Write as _;

use onehop_study::rng::{Stream, StreamRng};

/// The stream of models.
const MODELS: Stream = Stream(0x6d6f_6465_6c73);
/// The names of item types, in the order in which they refer to each other.
pub(super) const NAMES: [&str; 6] = ["Alpha", "Bravo", "Carol", "Delta", "Echo", "Fox"];
/// Stored fields: kind, type, directives. `#` stands for the name of the field.
const STORED: [(&str, &str, &str); 27] = [
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
    ("hidden", "String", "@hidden"),
];
/// Stored fields of types behind the first one, which an account of the model may read, or which refer to it.
const STORED_LATER: [(&str, &str, &str); 2] = [
    ("members", "String", "@auth(on: READ, allow: [SIGNED_IN, STAFF])"),
    ("uses", "[Use!]!", "@length(max: 2)"),
];

/// A field of a type.
#[derive(Clone)]
pub(super) struct Declared {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) of: String,
    directives: String,
}

impl Declared {
    pub(super) fn is_ordered(&self) -> bool {
        matches!(
            self.kind,
            "text" | "optText" | "int" | "optInt" | "real" | "time" | "optTime" | "number" | "id"
        )
    }

    pub(super) fn is_copied(&self) -> bool {
        !matches!(self.kind, "reference" | "computed" | "copied" | "hidden" | "members" | "uses")
    }

    /// Whether lists may have an entry under its value.
    pub(super) fn is_argument(&self) -> bool {
        matches!(self.kind, "int" | "flag" | "color" | "texts" | "text")
            && !self.directives.contains("as: \"/")
    }
}

/// The key of a type.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Home {
    Id,
    Type,
    /// The logical partition of an earlier type.
    Parent(usize),
    Region,
    RegionAndId,
    ParentAndId(usize),
}

pub(super) struct ItemType {
    pub(super) name: &'static str,
    pub(super) home: Home,
    pub(super) fields: Vec<Declared>,
    pub(super) related: Vec<String>,
    has_caller: bool,
}

impl ItemType {
    pub(super) fn camel(&self) -> String {
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

/// The parts of a model while it is written.
pub(super) struct Writer {
    random: StreamRng,
    pub(super) types: Vec<ItemType>,
    containers: Vec<(String, String)>,
    /// The definitions of the types up to their fields.
    pub(super) heads: Vec<String>,
    pub(super) queries: Vec<String>,
    pub(super) mutations: Vec<String>,
    pub(super) subscriptions: Vec<String>,
    has_account: bool,
    /// The copies beside the reference in an embedded type.
    use_copies: String,
    /// The lists so far.
    pub(super) lists: usize,
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
        use_copies: String::new(),
        lists: 0,
    };
    writer.has_account = writer.chance(90);
    let types = 3 + writer.below(NAMES.len() - 2);
    for name in &NAMES[..types] {
        writer.add_type(name);
    }
    writer.use_copies = writer.copies(0);
    for place in 0..types {
        writer.add_lists(place);
    }
    writer.text(seed)
}

impl Writer {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.random.below_u64(end.max(1) as u64) as usize
    }

    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn one_of<T: Clone>(&mut self, values: &[T]) -> Option<T> {
        if values.is_empty() { None } else { Some(values[self.below(values.len())].clone()) }
    }

    pub(super) fn add_container(&mut self, name: &str, key: &str) {
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
        let mut ty = ItemType { name, home, fields: Vec::new(), related: Vec::new(), has_caller: false };
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
        self.add_near_reference(&mut ty);
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
        let fields = match self.below(3) {
            0 => return String::new(),
            1 => format!("\"{}\"", one.name),
            _ if one.name == other.name => format!("\"{}\"", one.name),
            _ => format!("\"{}\", \"{}\"", one.name, other.name),
        };
        let frozen = if self.chance(20) { ", frozen: true" } else { "" };
        format!(" @copy(fields: [{fields}]{frozen})")
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
                if length.is_empty() && self.chance(30) {
                    self.add_copied_value(ty, target, &name, of.ends_with('!'));
                }
            }
        }
    }

    /// A reference, or a list of references, to items that share a part of their partition key with these.
    fn add_near_reference(&mut self, ty: &mut ItemType) {
        let shared = |home: Home| match home {
            Home::Parent(parent) | Home::ParentAndId(parent) => Some(Some(parent)),
            Home::Region | Home::RegionAndId => Some(None),
            Home::Id | Home::Type => None,
        };
        let Some(own) = shared(ty.home) else { return };
        let targets = self.types_that(|target| shared(target.home) == Some(own));
        let target = self.one_of(&targets).filter(|_| self.chance(60));
        let Some(target) = target else { return };
        let by = own.map_or_else(|| "region".to_owned(), |parent| self.types[parent].camel());
        let (of, copies) = (self.types[target].name, self.copies(target));
        let (of, length) = match self.below(3) {
            0 => (of.to_owned(), ""),
            _ => (format!("[{of}!]!"), " @length(max: 3)"),
        };
        self.push(ty, "near", "reference", &of, &format!("@reference(partition: \"{by}\"){copies}{length}"));
    }

    /// A value that is copied along a reference.
    fn add_copied_value(&mut self, ty: &mut ItemType, target: usize, reference: &str, is_needed: bool) {
        let is_plain = |field: &&Declared| matches!(field.kind, "text" | "int" | "color" | "flag");
        let fields: Vec<_> = self.types[target].fields.iter().filter(is_plain).cloned().collect();
        let Some(field) = self.one_of(&fields) else { return };
        let of = field.of.trim_end_matches('!').to_owned() + if is_needed { "!" } else { "" };
        let from = format!("@copy(from: \"{reference}.{}\")", field.name);
        self.push(ty, &format!("{reference}Value"), "copied", &of, &from);
    }

    fn add_stored(&mut self, ty: &mut ItemType, is_account: bool) {
        if is_account {
            let normal = self.one_of(&["EMAIL", "USERNAME", "LOWER", "EXACT"]).unwrap_or_default();
            self.push(ty, "login", "unique", "String!", &format!("@unique(normalize: {normal})"));
        }
        for number in 0..2 + self.below(6) {
            let pool =
                if !is_account && self.has_account && self.chance(15) { &STORED_LATER[..] } else { &STORED };
            let Some((kind, of, directives)) = self.one_of(pool) else { continue };
            let name = format!("{kind}{number}");
            let directives = directives.replace('#', &name);
            self.push(ty, &name, kind, of, &directives);
        }
        if self.chance(40) {
            let of = self.one_of(&["String", "String!"]).unwrap_or_default();
            let normal = self.one_of(&["LOWER", "EXACT"]).unwrap_or_default();
            let stored = if self.chance(50) { "" } else { " @stored(as: \"/codes/own\")" };
            self.push(ty, "code", "unique", of, &format!("@unique(normalize: {normal}){stored}"));
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
        if text.contains("[Use!]!") {
            let others =
                if seed.is_multiple_of(2) { " others: [Alpha!] @reference @length(max: 3)" } else { "" };
            let _ = writeln!(
                text,
                "type Use @embedded {{ alpha: Alpha @reference{} note: String{others} }}",
                self.use_copies
            );
        }
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
