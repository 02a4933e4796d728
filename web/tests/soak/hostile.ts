/**
 * The acts of faulty and hostile clients. All of it has to be refused, or end in a connection that is closed.
 */
import type { Dice } from "./dice.js";
import type { Answer, Asked, Wire } from "./wire.js";

export type HostileAct = (wire: Wire, dice: Dice) => Promise<unknown>;

const JSON_TYPE = { "content-type": "application/json" };
const SUBSCRIPTION = "subscription { feedChanged { id title } }";
const INIT = JSON.stringify({ type: "connection_init" });
const SUBSCRIBE = JSON.stringify({ type: "subscribe", id: "1", payload: { query: SUBSCRIPTION } });

function head(method: string, headers: string): string {
  return `${method} /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}\r\n`;
}

function posted(body: string): string {
  return head("POST", `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`) + body;
}

function many(number: number, piece: (index: number) => string): string {
  return Array.from({ length: number }, (_, index) => piece(index)).join(" ");
}

/**
 * Asks for something that must be refused, with a status or with errors. The connection may end before the
 * answer.
 */
async function refused(wire: Wire, asked: Asked): Promise<void> {
  let answer: Answer;
  try {
    answer = await wire.ask({ headers: JSON_TYPE, alone: true, ...asked });
  } catch {
    return;
  }
  const isRefused = answer.status === 200 && (JSON.parse(answer.body) as { errors?: unknown[] }).errors !== undefined;
  if (!isRefused && (answer.status < 400 || answer.status >= 500)) {
    throw new Error(
      `${JSON.stringify(asked).slice(0, 200)} is answered with ${answer.status}: ${answer.body.slice(0, 500)}`,
    );
  }
}

function document(text: (dice: Dice) => string): HostileAct {
  return (wire, dice) => refused(wire, { body: JSON.stringify({ query: text(dice) }) });
}

function asking(asked: (dice: Dice) => Asked): HostileAct {
  return (wire, dice) => refused(wire, asked(dice));
}

function holding(bytes: (dice: Dice) => string | Buffer): HostileAct {
  return (wire, dice) => {
    wire.hold(bytes(dice));
    return Promise.resolve();
  };
}

function saying(...said: (string | Buffer)[]): HostileAct {
  return (wire) => {
    wire.socket(said);
    return Promise.resolve();
  };
}

/** Wrong: the requests of a client with a defect. */
export const INVALID: readonly HostileAct[] = [
  document(() => "{ nothing }"),
  document(() => "{ unclosed"),
  document(() => "query($id: ID!) { post(id: $id) { title } }"),
  document((dice) => `{ post(id: "${dice.bytes(12).toString("base64url")}") { nothing } }`),
  document(() => "{ feed(first: 101) { nodes { id } } }"),
  document(() => 'mutation { createPost(input: { title: "", content: "" }) { post { id } } }'),
  document(() => 'mutation { signIn(input: { username: "nobody", password: "not the password" }) { accessToken } }'),
  asking(() => ({ body: "{" })),
  asking(() => ({ body: "[]" })),
  asking(() => ({ method: "PUT", body: "{}" })),
  asking(() => ({ path: "/nothing" })),
  asking(() => ({ method: "GET", path: `/graphql?query=${encodeURIComponent("mutation { __typename }")}` })),
  asking(() => ({ headers: { ...JSON_TYPE, accept: "image/png" }, body: '{"query":"{ __typename }"}' })),
  asking(() => ({ headers: { ...JSON_TYPE, authorization: "Bearer x.y.z" }, body: '{"query":"{ __typename }"}' })),
];

/** Meant to harm. */
export const HOSTILE: readonly HostileAct[] = [
  document(
    () =>
      `{ ...F0 } ${many(24, (index) => `fragment F${index} on Query { ...F${index + 1} ...F${index + 1} }`)} fragment F24 on Query { viewer { id } }`,
  ),
  document((dice) => "{a".repeat(1 + dice.roll(10_000))),
  document(() => `{ ${many(2_000, (index) => `a${index}: viewer { id }`)} }`),
  document(
    () =>
      `{ feed(first: 100) { nodes { comments(first: 100) { nodes { author { posts(first: 100) { nodes { id } } } } } } } }`,
  ),
  document((dice) => dice.bytes(2_000).toString("latin1")),
  asking((dice) => ({ body: dice.bytes(dice.roll(4_000)) })),
  asking(() => ({ body: Buffer.alloc(2 ** 21, " ") })),
  asking(() => ({ body: `{"query":"{ __typename }","variables":${"[".repeat(20_000)}` })),
  asking(() => ({ body: `{"query":"{ __typename }","variables":{"a":[${"0,".repeat(50_000)}0]}}` })),
  asking(() => ({ headers: { ...JSON_TYPE, "x-padding": "x".repeat(100_000) } })),
  asking(() => ({
    headers: { "content-type": "text/plain", origin: "https://elsewhere.example" },
    body: '{"query":"{ __typename }"}',
  })),
  asking(() => ({
    headers: { ...JSON_TYPE, authorization: "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0." },
    body: '{"query":"{ __typename }"}',
  })),
  (wire, dice) => wire.breakOff(dice.bytes(500)),
  (wire) => wire.breakOff(head("POST", "Content-Type: application/json\r\nContent-Length: 1000\r\n") + "{"),
  (wire) => wire.breakOff(posted('{"query":"{ feed(first: 100) { nodes { content } } }"}').repeat(20)),
  // Heads and bodies that never end, and answers that the client does not read.
  holding(() => "POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Never:"),
  holding(() => head("POST", "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n") + "1\r\n{\r\n"),
  holding(() => posted('{"query":"{ feed(first: 100) { nodes { title content } } }"}').repeat(50)),
  holding(
    () =>
      head("POST", "Accept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: 61\r\n") +
      JSON.stringify({ query: SUBSCRIPTION }).padEnd(61),
  ),
  // WebSockets that say nothing, too much, or nonsense.
  saying(),
  saying(SUBSCRIBE),
  saying(INIT, INIT),
  saying(INIT, SUBSCRIBE, SUBSCRIBE),
  saying(INIT, Buffer.from([0, 255, 1])),
  saying(INIT, "x".repeat(2 ** 21)),
  saying(
    INIT,
    ...Array.from({ length: 200 }, (_, id) =>
      JSON.stringify({ type: "subscribe", id: `${id}`, payload: { query: SUBSCRIPTION } }),
    ),
  ),
];
