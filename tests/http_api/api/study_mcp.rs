//! `onehop study mcp`: real sessions with the program as a child process.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::api::binary::onehop;

fn studies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/studies")
}

/// A client of the server. Each line of its output has to be a message of the protocol.
struct Session {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    last_id: u64,
    /// Notifications that came before the last response.
    notifications: Vec<Value>,
}

impl Session {
    fn start(directory: &Path) -> Self {
        let mut command = onehop(&["study", "mcp", directory.to_str().unwrap()]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let output = BufReader::new(output).lines();
        Self { child, input, output, last_id: 0, notifications: Vec::new() }
    }

    fn initialized(directory: &Path) -> Self {
        let mut session = Self::start(directory);
        let answer = session.initialize("2025-06-18");
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
        session
    }

    fn initialize(&mut self, version: &str) -> Value {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let answer = self.request("initialize", params);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        answer
    }

    fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn next_message(&mut self) -> Option<Value> {
        let line = self.output.next()?.unwrap();
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no message: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        Some(message)
    }

    fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        id
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.notifications.clear();
        loop {
            let message = self.next_message().expect("the session goes on");
            if message["id"] == id {
                return message;
            }
            self.notifications.push(message);
        }
    }

    /// The structured answer of a tool, which its text repeats.
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = &result["result"];
        assert_eq!(result["isError"], false, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), result["structuredContent"]);
        result["structuredContent"].clone()
    }

    /// The text of a tool's error.
    fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!(result["result"]["isError"], true, "{result}");
        result["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Ends standard input, and returns the messages until the end of the output, and the exit status.
    fn end(mut self) -> (Vec<Value>, i32) {
        drop(self.input.take());
        let mut rest = Vec::new();
        while let Some(message) = self.next_message() {
            rest.push(message);
        }
        (rest, self.child.wait().unwrap().code().unwrap())
    }
}

#[test]
fn an_agent_sees_plans_charges_and_keys_of_a_study() {
    let mut session = Session::initialized(&studies().join("shop"));
    let tools = session.request("tools/list", json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["describe", "plan", "estimate", "compare", "keys"]);
    for tool in &tools {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        assert!(properties.values().all(|property| property["description"].is_string()), "{tool}");
    }

    let described = session.call("describe", json!({}));
    assert_eq!(described["data"][0]["items"], 400);
    assert_eq!(described["designs"].as_array().unwrap().len(), 3);
    let request = described["requests"][0]["name"].clone();

    let planned = session.call("plan", json!({"request": request, "design": "V2"}));
    let plans = planned["requests"][0]["plans"].as_array().unwrap();
    assert_eq!((plans.len(), &plans[0]["design"]), (1, &json!("V2")));
    let operation = &plans[0]["operations"][0];
    assert!(operation["requestCharge"].as_f64().unwrap() >= 1.0 && operation["error"].is_number());

    let compared = session.call("compare", json!({"scale": 1}));
    let designs = compared["designs"].as_array().unwrap();
    assert!(designs.iter().all(|design| design["feasible"] == true), "{compared}");
    let charge = &compared["requests"][0]["designs"]["V2"]["requestCharge"];
    assert_eq!(*charge, plans[0]["requestCharge"]);
    let full = session.call("compare", json!({"scale": 1, "detail": "full"}));
    assert_eq!(full["verdict"], compared["verdict"]);
    assert!(full["rows"].as_array().unwrap().len() > 3);

    let keys = session.call("keys", json!({"type": "Order"}));
    let keys = keys["types"][0]["keys"].as_array().unwrap();
    let customer = keys.iter().find(|key| key["fields"] == json!(["customer"])).unwrap();
    assert_eq!(customer["grade"], "good", "{customer}");
    let (rest, status) = session.end();
    assert_eq!((rest, status), (Vec::new(), 0));
}

#[test]
fn an_agent_estimates_one_operation() {
    let mut session = Session::initialized(&studies().join("shop"));
    let item = json!({"id": "1", "a": {"b": null}, "tags": ["x", "y", "x"]});
    let estimated = session.call("estimate", json!({"operation": "create", "item": item}));
    // 13.5 units of 8/21 RU, five paths and half a one.
    assert_eq!(estimated["requestCharge"], 7.2381);
    assert_eq!(estimated["indexedPaths"], json!(["/a", "/a/b", "/id", "/tags", "/tags/[]"]));
    assert_eq!(estimated["error"], 0.053);
    let read =
        session.call("estimate", json!({"operation": "read", "itemBytes": 500, "consistency": "strong"}));
    assert_eq!(read["requestCharge"], 2.0);
    let refused = session.refused("estimate", json!({"operation": "dance"}));
    assert!(refused.contains("dance") && refused.contains("changeFeed"), "{refused}");
    let refused = session.refused("estimate", json!({"operation": "read", "itemBytes": -1}));
    assert!(refused.contains("`itemBytes` is -1"), "{refused}");
}

#[test]
fn mistakes_are_answered_and_the_session_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let shop = studies().join("shop");
    for name in ["a", "b"] {
        let study = directory.path().join(name);
        std::fs::create_dir_all(study.join("designs")).unwrap();
        for file in
            ["study.toml", "requests.graphql", "designs/v1.graphql", "customers.jsonl", "orders.jsonl"]
        {
            std::fs::copy(shop.join(file), study.join(file)).unwrap();
        }
    }
    std::fs::write(directory.path().join("b/study.toml"), "scale = 0\n").unwrap();
    let mut session = Session::initialized(directory.path());
    assert_eq!(session.call("describe", json!({})), json!({"studies": ["a", "b"]}));
    for (tool, arguments, expected) in [
        ("plan", json!({}), "`study` is needed: one of a, b"),
        ("compare", json!({"study": "a", "scale": 0}), "`scale` is 0; a number from 0.001 to 1000000000"),
        ("compare", json!({"study": "a", "size": 1}), "unknown field `size`"),
        (
            "plan",
            json!({"study": "a", "request": "None"}),
            "`request` is \"None\"; expected one of OrderPage",
        ),
        ("plan", json!({"study": "a", "design": "V9"}), "`design` is \"V9\"; expected one of V1"),
        ("keys", json!({"study": "a", "type": "Nothing"}), "`type` is \"Nothing\"; expected one of Customer"),
        ("describe", json!({"study": "b"}), "study.toml:1: `scale` is a number from 0.001"),
        ("describe", json!({"study": "../"}), "outside of the directory that is served"),
        ("describe", json!({"study": shop}), "outside of the directory that is served"),
    ] {
        let refused = session.refused(tool, arguments);
        assert!(refused.contains(expected), "{expected}\n{refused}");
    }
    let unknown = session.request("tools/call", json!({"name": "drop", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602);
    assert!(unknown["error"]["message"].as_str().unwrap().contains("describe, plan, estimate"), "{unknown}");
    assert_eq!(session.request("resources/list", json!({}))["error"]["code"], -32601);
    session.send("no message at all");
    // The mistake is mended, and the data is read once more.
    let described = session.call("describe", json!({"study": "a"}));
    let orders = directory.path().join("a/orders.jsonl");
    let lines = std::fs::read_to_string(&orders).unwrap();
    std::fs::write(&orders, lines.lines().take(100).map(|line| format!("{line}\n")).collect::<String>())
        .unwrap();
    let changed = session.call("describe", json!({"study": "a"}));
    assert_eq!((&described["data"][1]["items"], &changed["data"][1]["items"]), (&json!(600), &json!(100)));
}

#[test]
fn the_version_of_the_protocol_is_negotiated() {
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("2999-01-01", "2025-11-25"),
    ] {
        let mut session = Session::start(&studies().join("shop"));
        let answer = session.initialize(asked);
        assert_eq!(answer["result"]["protocolVersion"], answered, "{asked}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "onehop-study");
        assert!(answer["result"]["capabilities"]["tools"].is_object());
        assert_eq!(session.end().1, 0);
    }
}

#[test]
fn the_end_of_the_input_ends_the_session_cleanly() {
    assert_eq!(Session::start(&studies().join("shop")).end(), (Vec::new(), 0));
    let mut session = Session::initialized(&studies().join("shop"));
    // A call that is on its way is answered.
    let id = session.ask("tools/call", json!({"name": "estimate", "arguments": {"operation": "count"}}));
    let (rest, status) = session.end();
    assert_eq!((rest.len(), &rest[0]["id"], status), (1, &json!(id), 0));
    let missing = onehop(&["study", "mcp", "/nowhere"]).output().unwrap();
    assert_eq!((missing.status.code(), missing.stdout.len()), (Some(2), 0));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("/nowhere cannot be read"));
}

#[test]
fn progress_is_reported_to_a_client_that_asks_for_it() {
    let mut session = Session::initialized(&studies().join("shop"));
    let meta = json!({"progressToken": "p1"});
    let params = json!({"name": "describe", "arguments": {}, "_meta": meta});
    assert_eq!(session.request("tools/call", params.clone())["result"]["isError"], false);
    let sent = session.notifications.clone();
    assert!(sent.iter().all(|sent| sent["method"] == "notifications/progress"), "{sent:?}");
    let last = &sent.last().expect("there is progress")["params"];
    assert_eq!((&last["progressToken"], &last["progress"]), (&json!("p1"), &last["total"]));
    assert_eq!(last["message"], "orders.jsonl: 600 items so far");
    // The data is not read again.
    session.request("tools/call", params);
    assert_eq!(session.notifications, Vec::<Value>::new());
    session.call("describe", json!({}));
    assert_eq!(session.notifications, Vec::<Value>::new(), "nobody asked");
}
