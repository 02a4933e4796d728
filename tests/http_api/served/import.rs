//! Import of files into a served model: JSON lines and CSV, compressed or not, in any order, repeated, with
//! rejected rows.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use onehop::served::import::{ImportEvent, Reject, TypeReport, files_of, import};
use serde_json::{Value, json};

use super::server::ServedServer;

const BAKERY: &str = include_str!("models/bakery.graphql");

const PEOPLE: &str = "id,name,email,since,password\r\n\
    p1,Ada,ada@example.com,2026-01-02T03:04:05Z,correct horse battery\r\n\
    p2,\"Bob, Jr.\",bob@example.com,,\r\n";
const BREAD: &str = r#"{"id": "rye", "name": "Rye", "price": {"amount": "3.20", "currencyCode": "EUR"}, "weight": "750.5"}
{"id": "roll", "name": "Roll", "price": {"amount": "0.45", "currencyCode": "EUR"}, "weight": 60, "bestBefore": "2027-01-01T00:00:00Z"}

{"id": "odd", "name": "", "price": {"amount": "1.234", "currencyCode": "EUR"}, "weight": "1"}
not json
{"id": "more", "name": "More", "price": {"amount": "1.00", "currencyCode": "EUR"}, "weight": "1", "colour": "red"}
"#;
const SHELVES: &str = "id,name\ns1,Top\ns2,Bottom\n";
const PLACEMENTS: &str = "id,shelfId,bread\nx1,s1,rye\nx2,s1,roll\nx3,s2,roll\nx4,s2,none\n";
const ORDERS: &str = r#"{"id": "o1", "customerId": "p1", "note": "Hi", "placedAt": "2026-05-06T07:08:09.010Z", "lines": [{"breadId": "rye", "quantity": 2}, {"breadId": "roll", "quantity": 10}]}
{"id": "o2", "customer": "p2", "lines": [{"breadId": "rye", "quantity": 0}]}
"#;

fn write(directory: &Path, name: &str, text: &str) {
    std::fs::write(directory.join(name), text).unwrap();
}

/// A directory with a file of each kind.
fn files() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "Person.csv", PEOPLE);
    write(directory.path(), "bread.jsonl", BREAD);
    write(directory.path(), "Shelf.csv", SHELVES);
    write(directory.path(), "Placement.csv", PLACEMENTS);
    write(directory.path(), "notes.txt", "no rows");
    let mut compressed = GzEncoder::new(Vec::new(), Compression::default());
    compressed.write_all(ORDERS.as_bytes()).unwrap();
    std::fs::write(directory.path().join("Order.ndjson.gz"), compressed.finish().unwrap()).unwrap();
    directory
}

async fn run(server: &ServedServer, directory: &Path) -> (Vec<(&'static str, TypeReport)>, Vec<Reject>) {
    let files = files_of(&server.app.model, directory).unwrap();
    let mut rejects = Vec::new();
    let reports = import(&server.app.commands, &files, |event| {
        if let ImportEvent::Rejected(reject) = event {
            rejects.push(reject);
        }
    });
    let reports = reports.await.unwrap();
    rejects.sort_by_key(|reject| (reject.file.clone(), reject.line));
    server.settle().await;
    (reports, rejects)
}

#[tokio::test]
async fn rows_become_items_with_copies_and_read_models() {
    let server = ServedServer::start(BAKERY).await;
    let directory = files();
    let (reports, rejects) = run(&server, directory.path()).await;
    let counts = |created, rejected| TypeReport { created, existed: 0, rejected };
    let expected = [
        ("Person", counts(2, 0)),
        ("Bread", counts(2, 3)),
        ("Shelf", counts(2, 0)),
        ("Placement", counts(3, 1)),
        ("Order", counts(1, 1)),
    ];
    let find = |name: &str| reports.iter().find(|(found, _)| *found == name).unwrap().1;
    for (name, report) in expected {
        assert_eq!(find(name), report, "{name}: {rejects:#?}");
    }
    let of = |file: &str| -> Vec<(u64, &str)> {
        let found = rejects.iter().filter(|reject| reject.file == file);
        found.map(|reject| (reject.line, reject.reason.as_str())).collect()
    };
    let bread = of("bread.jsonl");
    assert_eq!(bread.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [4, 5, 6]);
    assert!(bread[0].1.contains("name must have 1 to 40 characters"), "{bread:?}");
    assert!(bread[0].1.contains("price must have at most 2 decimals"), "{bread:?}");
    assert!(bread[2].1.contains("`colour`"), "{bread:?}");
    assert_eq!(of("Placement.csv").len(), 1);
    assert!(of("Order.ndjson.gz")[0].1.contains("quantity"), "{rejects:?}");

    let query =
        "{ latest { nodes { total { amount currencyCode } customer { name since } pieces placedAt note
        lines { breadName price { amount } quantity total { amount } } } } }";
    let order = &server.data(None, query, json!({})).await["latest"]["nodes"][0];
    let lines = json!([
        { "breadName": "Rye", "price": { "amount": "3.20" }, "quantity": 2, "total": { "amount": "6.40" } },
        { "breadName": "Roll", "price": { "amount": "0.45" }, "quantity": 10, "total": { "amount": "4.50" } },
    ]);
    let expected = json!({
        "total": { "amount": "10.90", "currencyCode": "EUR" }, "pieces": 12, "note": "Hi", "lines": lines,
        "customer": { "name": "Ada", "since": "2026-01-02T03:04:05.000Z" }, "placedAt": "2026-05-06T07:08:09.010Z",
    });
    assert_eq!(*order, expected);
    let query = "{ breads { nodes { name weight shelves { nodes { name } } } } }";
    let breads = server.data(None, query, json!({})).await;
    let shelf = |name: &str| json!({ "name": name });
    let expected = json!([
        { "name": "Roll", "weight": "60", "shelves": { "nodes": [shelf("Bottom"), shelf("Top")] } },
        { "name": "Rye", "weight": "750.5", "shelves": { "nodes": [shelf("Top")] } },
    ]);
    assert_eq!(breads["breads"]["nodes"], expected);
    let sign_in = "mutation { signIn(input: { email: \"ada@example.com\", password: \"correct horse battery\" }) { person { name } } }";
    assert_eq!(server.data(None, sign_in, json!({})).await["signIn"]["person"]["name"], "Ada");
    assert!(server.app.verify(false).await.unwrap().is_clean());
}

#[tokio::test]
async fn a_repeated_import_adds_nothing() {
    let server = ServedServer::start(BAKERY).await;
    let directory = files();
    let (first, _) = run(&server, directory.path()).await;
    let query = "{ breads { nodes { id name } } latest { nodes { id pieces } } }";
    let before = server.data(None, query, json!({})).await;
    let (second, _) = run(&server, directory.path()).await;
    for ((name, first), (_, second)) in first.iter().zip(&second) {
        let expected = TypeReport { created: 0, existed: first.created, rejected: first.rejected };
        assert_eq!(*second, expected, "{name}");
    }
    assert_eq!(server.data(None, query, json!({})).await, before);
}

/// A repeated import brings no deleted item back, and goes on.
#[tokio::test]
async fn deleted_items_stay_deleted_at_an_import() {
    let model = r#"
extend schema @model(name: "stock") @container(name: "things", key: "/thingId")
type Thing @item(container: "things", partition: "id", write: DELETE) @auth(on: DELETE, allow: PUBLIC) {
  id: ID!
  name: String! @unique(normalize: LOWER)
}
type Query { things: [Thing!]! @find @order(by: "name") }
"#;
    let server = ServedServer::start(model).await;
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "Thing.csv", "id,name\na,Axe\nb,Bow\n");
    run(&server, directory.path()).await;
    let things = "{ things { nodes { id name } } }";
    let before = server.data(None, things, json!({})).await;
    let input = json!({ "i": { "thingId": before["things"]["nodes"][0]["id"] } });
    let deletion = "mutation($i: DeleteThingInput!) { deleteThing(input: $i) { deletedThingId } }";
    server.data(None, deletion, input).await;

    write(directory.path(), "Thing.csv", "id,name\na,Axe\nb,Bow\nc,Cup\nd,Axe\n");
    let (reports, rejects) = run(&server, directory.path()).await;
    assert_eq!(reports, [("Thing", TypeReport { created: 2, existed: 1, rejected: 1 })], "{rejects:?}");
    let reason = "this Thing was deleted".to_owned();
    assert_eq!(rejects, [Reject { file: "Thing.csv".to_owned(), line: 2, reason }]);
    let after = server.data(None, things, json!({})).await;
    let names: Vec<&Value> =
        after["things"]["nodes"].as_array().unwrap().iter().map(|thing| &thing["name"]).collect();
    assert_eq!(names, ["Axe", "Bow", "Cup"]);
}

#[tokio::test]
async fn rows_wait_for_rows_of_their_own_type() {
    let model = r#"
extend schema @model(name: "tree") @container(name: "nodes", key: "/nodeId")
type Branch @item(container: "nodes", partition: "id", write: CREATE) @auth(on: CREATE, allow: PUBLIC) {
  id: ID!
  name: String!
  parent: Branch @reference @copy(fields: ["name"])
}
"#;
    let server = ServedServer::start(model).await;
    let directory = tempfile::tempdir().unwrap();
    let rows = "{\"id\":\"c\",\"name\":\"C\",\"parentId\":\"b\"}\n{\"id\":\"b\",\"name\":\"B\",\"parentId\":\"a\"}\n{\"id\":\"a\",\"name\":\"A\"}\n{\"id\":\"d\",\"name\":\"D\",\"parentId\":\"x\"}\n";
    write(directory.path(), "branch.jsonl", rows);
    let (reports, rejects) = run(&server, directory.path()).await;
    assert_eq!(reports, [("Branch", TypeReport { created: 3, existed: 0, rejected: 1 })]);
    let lost = Reject { file: "branch.jsonl".to_owned(), line: 4, reason: rejects[0].reason.clone() };
    assert_eq!(rejects, [lost]);
    assert!(server.app.verify(false).await.unwrap().is_clean());
}

#[test]
fn the_command_reports_rejected_rows_by_its_status() {
    let directory = files();
    let scratch = tempfile::tempdir().unwrap();
    let model = scratch.path().join("bakery.graphql");
    std::fs::write(&model, BAKERY).unwrap();
    let rejects = scratch.path().join("rejects.jsonl");
    let command = |directory: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onehop"));
        command.arg("import").arg("--model").arg(&model).arg("--data").arg(scratch.path().join("data"));
        command.arg("--rejects").arg(&rejects).arg(directory).output().unwrap()
    };
    let output = command(directory.path());
    let (text, errors) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(1), "{text}{errors}");
    assert!(text.contains("Person: 2 created, 0 existed, 0 rejected"), "{text}");
    assert!(errors.contains("bread.jsonl:5: is no JSON"), "{errors}");
    let lines = std::fs::read_to_string(&rejects).unwrap();
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert!(first["line"].is_number() && lines.lines().count() == 5, "{lines}");
    let mut verify = Command::new(env!("CARGO_BIN_EXE_onehop"));
    let output = verify.arg("verify").arg("--data").arg(scratch.path().join("data")).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("these are the data of the model `bakery`"), "{errors}");
    assert_eq!(output.status.code(), Some(2), "{errors}");
    let mut check = Command::new(env!("CARGO_BIN_EXE_onehop"));
    check.arg("check").arg("--model").arg(&model).arg("--data").arg(scratch.path().join("data"));
    let output = check.output().unwrap();
    let found = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && found.ends_with("sound\n"), "{found}");
    std::fs::write(directory.path().join("Nobody.csv"), "id\n1\n").unwrap();
    let output = command(directory.path());
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("Nobody.csv: no type of the model has this name"), "{errors}");
}

/// Sample rows fit the checks, keys and references of models, and the same command adds nothing.
#[test]
fn sample_rows_fit_their_models() {
    for model in ["bakery", "airline", "events", "festival", "hospital", "observatory", "tenants"] {
        let scratch = tempfile::tempdir().unwrap();
        let file = format!("{}/tests/http_api/served/models/{model}.graphql", env!("CARGO_MANIFEST_DIR"));
        let run = |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_onehop"));
            command.args(arguments).arg("--model").arg(&file);
            let output = command.arg("--data").arg(scratch.path().join("data")).output().unwrap();
            let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert!(output.status.success(), "{model}: {text}");
            text
        };
        let first = run(&["seed", "--items=12", "--durability=relaxed"]);
        assert!(first.contains(": 60 created") || first.contains(": 12 created"), "{model}: {first}");
        let again = run(&["seed", "--items=12", "--durability=relaxed"]);
        let reports = again.lines().filter(|line| line.contains(" created, "));
        assert!(reports.clone().count() > 2, "{model}: {again}");
        for report in reports {
            assert!(report.contains(": 0 created") && report.ends_with(" 0 rejected"), "{model}: {report}");
        }
        assert!(run(&["verify"]).ends_with("clean\n"), "{model}");
        let costs = run(&["read-models", "--costs"]);
        assert!(costs.lines().filter(|line| line.contains(" changes | ")).count() > 3, "{model}: {costs}");
    }
}
