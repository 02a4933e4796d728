//! Hostile documents and hostile variables, each in any size. Their targets: the parser, the validator, every
//! walk through fragments, and error messages.

/// A way to be hostile: its name, and a text that grows with a number.
pub type Shape = (&'static str, fn(usize) -> String);

/// The largest number, up to a bound, for which something holds that holds for all smaller ones.
pub fn largest(bound: usize, holds: impl Fn(usize) -> bool) -> usize {
    let mut beyond = 1;
    while beyond <= bound && holds(beyond) {
        beyond *= 2;
    }
    let mut within = beyond / 2;
    while within + 1 < beyond {
        let middle = within.midpoint(beyond);
        if holds(middle) { within = middle } else { beyond = middle }
    }
    within
}

/// A piece so many times.
fn many(number: usize, piece: impl Fn(usize) -> String) -> String {
    (0..number).map(piece).collect()
}

/// Documents.
pub const DOCUMENTS: &[Shape] = &[
    // Depth.
    ("selections nested", |n| "{a".repeat(n) + &"}".repeat(n)),
    ("selections nested and never closed", |n| "{a".repeat(n)),
    ("fields that lead in a circle", |n| {
        let (open, close) = ("author{posts{nodes{".repeat(n), "}}}".repeat(n));
        format!("{{feed{{nodes{{{open} id {close}}}}}}}")
    }),
    ("inline fragments nested", |n| format!("{{{}id{}}}", "...{".repeat(n), "}".repeat(n))),
    ("inline fragments on types nested", |n| {
        format!("{{viewer{{{}id{}}}}}", "...on User{".repeat(n), "}".repeat(n))
    }),
    ("lists nested", |n| format!("{{node(id:{}{})}}", "[".repeat(n), "]".repeat(n))),
    ("input objects nested", |n| format!("{{node(id:{}1{})}}", "{a:".repeat(n), "}".repeat(n))),
    ("types nested", |n| format!("query($a:{}Int{}){{viewer{{id}}}}", "[".repeat(n), "]".repeat(n))),
    ("brackets never closed", |n| "[".repeat(n)),
    // Width.
    ("aliases", |n| format!("{{{}}}", many(n, |i| format!("a{i}:viewer{{id}} ")))),
    ("one field again and again", |n| format!("{{{}}}", "viewer{id} ".repeat(n))),
    ("__typename again and again", |n| format!("{{{}}}", "__typename ".repeat(n))),
    ("__typename again and again within", |n| {
        format!("{{feed(first:100){{nodes{{{}}}}}}}", "__typename ".repeat(n))
    }),
    ("commands", |n| {
        format!("mutation{{{}}}", many(n, |i| format!("a{i}:likePost(input:{{postId:\"x\"}}){{post{{id}}}}")))
    }),
    ("operations", |n| many(n, |i| format!("query Q{i}{{viewer{{id}}}} "))),
    ("operations of one name", |n| "query Q{viewer{id}} ".repeat(n)),
    ("operations without a name", |n| "{viewer{id}} ".repeat(n)),
    // Names that there are not.
    ("unknown fields", |n| format!("{{viewer{{{}}}}}", many(n, |i| format!("posta{i} ")))),
    ("unknown fields with long names", |n| {
        format!("{{viewer{{{}}}}}", many(n, |i| format!("{}{i} ", "usernameposts".repeat(40))))
    }),
    ("an unknown field with a very long name", |n| format!("{{viewer{{{}}}}}", "username".repeat(n))),
    ("unknown arguments", |n| format!("{{feed({}){{nodes{{id}}}}}}", many(n, |i| format!("first{i}:1 ")))),
    ("an argument again and again", |n| format!("{{feed({}){{nodes{{id}}}}}}", "first:1 ".repeat(n))),
    ("an unknown argument with a very long name", |n| {
        format!("{{feed({}:1){{nodes{{id}}}}}}", "first".repeat(n))
    }),
    ("unknown types", |n| format!("{{{}}}", many(n, |i| format!("...on Post{i}{{id}} ")))),
    ("an alias of a very long name that conflicts", |n| {
        let name = "a".repeat(n);
        format!("{{viewer{{{name}:id {name}:username}}}}")
    }),
    // Fragments.
    ("fragments that double with every level", |n| {
        let fragments = many(n, |i| format!("fragment F{i} on Query{{...F{} ...F{}}}", i + 1, i + 1));
        format!("{{...F0}} {fragments} fragment F{n} on Query{{viewer{{id}}}}")
    }),
    ("fragments that double within fields", |n| {
        let fragments = many(n, |i| {
            format!("fragment F{i} on User{{a:posts{{nodes{{author{{...F{0} ...F{0}}}}}}}}}", i + 1)
        });
        format!("{{viewer{{...F0}}}} {fragments} fragment F{n} on User{{id}}")
    }),
    ("a fragment spread again and again", |n| {
        format!("{{viewer{{{}}}}} fragment F on User{{id username}}", "...F ".repeat(n))
    }),
    ("a chain of fragments", |n| {
        let fragments = many(n, |i| format!("fragment F{i} on User{{...F{}}}", i + 1));
        format!("{{viewer{{...F0}}}} {fragments} fragment F{n} on User{{id}}")
    }),
    ("a chain of fragments that nobody spreads", |n| {
        let fragments = many(n, |i| format!("fragment F{i} on User{{...F{}}}", i + 1));
        format!("{{viewer{{id}}}} {fragments} fragment F{n} on User{{id}}")
    }),
    ("a circle of fragments", |n| {
        let fragments = many(n, |i| format!("fragment F{i} on User{{...F{}}}", (i + 1) % n.max(1)));
        format!("{{viewer{{...F0}}}} {fragments}")
    }),
    ("fragments that each spread all that follow", |n| {
        let spread = |from: usize| many(n - from, |i| format!("...F{} ", from + i + 1));
        let fragments = many(n, |i| format!("fragment F{i} on User{{{}}}", spread(i)));
        format!("{{viewer{{...F0}}}} {fragments} fragment F{n} on User{{id}}")
    }),
    ("fragments that nobody spreads and that spread one another", |n| {
        let all = many(n, |i| format!("...F{} ", i + 1));
        let fragments = many(n, |i| format!("fragment F{} on User{{id}}", i + 1));
        format!("{{viewer{{id}}}} fragment A on User{{{all}}} fragment B on User{{{all}}} {fragments}")
    }),
    ("unknown fragments", |n| format!("{{viewer{{{}}}}}", many(n, |i| format!("...F{i} ")))),
    ("fragments that cannot apply", |n| format!("{{viewer{{{}}}}}", "...on Post{id} ".repeat(n))),
    ("operations that share fragments", |n| {
        let all = many(n, |i| format!("...F{i} "));
        let fragments = many(n, |i| format!("fragment F{i} on Query{{...U}}"));
        format!("{} {fragments}", many(n, |i| format!("query Q{i}{{{all}}}")))
    }),
    // Fields that are compared with one another.
    ("arguments that differ", |n| {
        format!("{{viewer{{{}}}}}", many(n, |i| format!("posts(first:{i}){{nodes{{id}}}} ")))
    }),
    ("fields that conflict, deep in inline fragments", |n| {
        let fields = many(n, |i| format!("posts(first:{i}) "));
        format!("{{viewer{{{}{fields}{}}}}}", "...{".repeat(20), "}".repeat(20))
    }),
    ("fields that conflict, in inline fragments of growing depth", |n| {
        format!("{{viewer{{{}{}}}}}", many(n, |i| format!("a:id b:posts(first:{i}) ...{{")), "}".repeat(n))
    }),
    ("selection sets that share a fragment of conflicts", |n| {
        let sets = "...{...F} ".repeat(n);
        let fields = many(n, |i| format!("posts(first:{i}) "));
        format!("{{viewer{{{sets}}}}} fragment F on User{{{fields}}}")
    }),
    // Variables.
    ("variables that nobody uses", |n| {
        format!("query({}){{viewer{{id}}}}", many(n, |i| format!("$a{i}:Int ")))
    }),
    ("variables that nobody defines", |n| {
        format!("{{feed(first:[{}]){{nodes{{id}}}}}}", many(n, |i| format!("$a{i} ")))
    }),
    ("variables of one name", |n| format!("query({}){{viewer{{id}}}}", "$a:Int ".repeat(n))),
    ("variables of unknown types", |n| {
        format!("query({}){{viewer{{id}}}}", many(n, |i| format!("$a{i}:T{i}!=1 ")))
    }),
    ("variables with defaults that do not fit", |n| {
        format!("query({}){{viewer{{id}}}}", many(n, |i| format!("$a{i}:Int=[{{a:\"b\"}}] ")))
    }),
    ("undefined variables that many operations share", |n| {
        let values = many(n, |i| format!("$a{i} "));
        let operations = many(n, |i| format!("query Q{i}{{...F}} "));
        format!("{operations} fragment F on Query{{feed(first:[{values}]){{nodes{{id}}}}}}")
    }),
    ("variables of the wrong type that many fields use", |n| {
        let fields = many(n, |_| "posts(first:$a){nodes{id}} ".to_owned());
        format!("query($a:[Boolean!]){{viewer{{{fields}}}}}")
    }),
    // Values.
    ("a long string", |n| format!("{{node(id:\"{}\"){{id}}}}", "x".repeat(n))),
    ("a long string that is never closed", |n| format!("{{node(id:\"{}", "x".repeat(n))),
    ("escapes", |n| format!("{{node(id:\"{}\"){{id}}}}", "\\u00e9\\\"".repeat(n))),
    ("escapes that are none", |n| format!("{{node(id:\"{}\"){{id}}}}", "\\u".repeat(n))),
    ("a block string of many lines", |n| format!("{{node(id:\"\"\"{}\"\"\"){{id}}}}", "  x\n".repeat(n))),
    ("a block string of line breaks", |n| format!("{{node(id:\"\"\"{}\"\"\"){{id}}}}", "\r".repeat(n))),
    ("a block string that is never closed", |n| format!("{{node(id:\"\"\"{}", "\\\"\"\" ".repeat(n))),
    ("empty strings", |n| format!("{{node(id:[{}]){{id}}}}", "\"\"".repeat(n))),
    ("characters beyond ASCII", |n| format!("{{node(id:\"{}\"){{id}}}}", "é\u{1f980}".repeat(n))),
    ("a long number", |n| format!("{{feed(first:{}){{nodes{{id}}}}}}", "9".repeat(n))),
    ("a long fraction", |n| format!("{{feed(first:1.{}e9){{nodes{{id}}}}}}", "9".repeat(n))),
    ("a large exponent", |n| format!("{{feed(first:1e{}){{nodes{{id}}}}}}", "9".repeat(n))),
    ("numbers", |n| format!("{{node(id:[{}]){{id}}}}", "1e9 ".repeat(n))),
    ("a wide list where a number is wanted", |n| {
        format!("{{feed(first:[{}]){{nodes{{id}}}}}}", "1 ".repeat(n))
    }),
    ("a wide input object", |n| {
        let fields = many(n, |i| format!("a{i}:1 "));
        format!("mutation{{likePost(input:{{{fields}}}){{post{{id}}}}}}")
    }),
    ("an input object of one field", |n| {
        format!("mutation{{likePost(input:{{{}}}){{post{{id}}}}}}", "postId:1 ".repeat(n))
    }),
    ("enum values", |n| format!("{{feed(model:[{}]){{nodes{{id}}}}}}", "V3 ".repeat(n))),
    // Directives.
    ("a directive again and again", |n| format!("{{viewer{{id {}}}}}", "@skip(if:false)".repeat(n))),
    ("unknown directives", |n| format!("{{viewer{{id {}}}}}", many(n, |i| format!("@d{i} ")))),
    ("directives on everything", |n| format!("{{viewer{{{}}}}}", "id@include(if:true) ".repeat(n))),
    ("directives with wide arguments", |n| {
        format!("{{viewer{{id @skip({})}}}}", many(n, |i| format!("if{i}:1 ")))
    }),
    ("directives of variables", |n| format!("query($a:Int {}){{viewer{{id}}}}", "@d ".repeat(n))),
    // The schema.
    ("types of fields of types", |n| {
        format!("{{__schema{{types{}{{name}}{}}}}}", "{fields{type".repeat(n), "}}".repeat(n))
    }),
    ("types of fields of types, with what they wrap", |n| {
        format!("{{__schema{{types{}{{name}}{}}}}}", "{fields{type{ofType".repeat(n), "}}}".repeat(n))
    }),
    ("possible types of interfaces", |n| {
        format!(
            "{{__type(name:\"Node\"){}{{name}}{}}}",
            "{possibleTypes{interfaces".repeat(n),
            "}}".repeat(n)
        )
    }),
    ("arguments of fields of types again and again", |n| {
        let names = "name ".repeat(n);
        format!("{{__schema{{types{{fields{{args{{type{{fields{{args{{{names}}}}}}}}}}}}}}}}}")
    }),
    // Texts that are hardly documents.
    ("spaces", |n| format!("{{viewer{{id}}}}{}", " ".repeat(n))),
    ("commas and line breaks", |n| format!("{{viewer{{{}id}}}}", ",\n\r\t".repeat(n))),
    ("comments", |n| format!("{{viewer{{{}id}}}}", "#é\n".repeat(n))),
    ("one long comment", |n| format!("{{viewer{{id}}}}#{}", "x".repeat(n))),
    ("byte order marks", |n| format!("{}{{viewer{{id}}}}", "\u{feff}".repeat(n))),
    ("punctuators", |n| "!$&()...:=@[]{|}".repeat(n)),
    ("dots", |n| format!("{{{}}}", ".".repeat(n))),
    ("null characters", |n| "\0".repeat(n)),
    ("quotation marks", |n| "\"".repeat(n)),
    ("one long word", |n| "a".repeat(n)),
    ("a long line with a fault at its end", |n| format!("{{{}]", "viewer{id} ".repeat(n))),
];

/// Variables of a request, as JSON.
pub const VARIABLES: &[Shape] = &[
    ("lists nested", |n| format!("{{\"a\":{}{}}}", "[".repeat(n), "]".repeat(n))),
    ("objects nested", |n| format!("{{\"a\":{}1{}}}", "{\"a\":".repeat(n), "}".repeat(n))),
    ("lists never closed", |n| format!("{{\"a\":{}", "[".repeat(n))),
    ("a wide list", |n| format!("{{\"a\":[{}0]}}", "0,".repeat(n))),
    ("empty lists", |n| format!("{{\"a\":[{}[]]}}", "[],".repeat(n))),
    ("empty objects", |n| format!("{{\"a\":[{}{{}}]}}", "{},".repeat(n))),
    ("empty strings", |n| format!("{{\"a\":[{}\"\"]}}", "\"\",".repeat(n))),
    ("keys", |n| format!("{{{}\"a\":0}}", many(n, |i| format!("\"k{i}\":0,")))),
    ("keys of an object", |n| format!("{{\"a\":{{{}\"b\":0}}}}", many(n, |i| format!("\"k{i}\":0,")))),
    ("one key again and again", |n| format!("{{{}\"a\":0}}", "\"a\":0,".repeat(n))),
    ("a long key", |n| format!("{{\"{}\":0}}", "k".repeat(n))),
    ("a long string", |n| format!("{{\"a\":\"{}\"}}", "x".repeat(n))),
    ("escapes", |n| format!("{{\"a\":\"{}\"}}", "\\u00e9\\n".repeat(n))),
    ("a long number", |n| format!("{{\"a\":{}}}", "9".repeat(n))),
    ("a long fraction", |n| format!("{{\"a\":0.{}1}}", "0".repeat(n))),
    ("a large exponent", |n| format!("{{\"a\":1e{}}}", "9".repeat(n))),
    ("spaces", |n| format!("{{{}}}", " ".repeat(n))),
];
