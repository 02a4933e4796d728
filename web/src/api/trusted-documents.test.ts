import type { Client } from "@urql/core";
import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import { getOperationAST, OperationTypeNode, parse } from "graphql";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import trusted from "../../trusted-documents.json";
import { createFetcher } from "../graphiql/fetcher.js";
import { examples } from "../graphiql/examples.js";
import { ask } from "./request.js";

type AnyDocument = TypedDocumentNode<unknown, Record<string, unknown>>;

/** The documents of `ask`; urql's client sends all else. */
const ASKED = [
  "ExportCommentsDocument",
  "ExportLikesDocument",
  "ExportPostsDocument",
  "NameInCopiesDocument",
  "NamesInProductsDocument",
  "PlaygroundProductsDocument",
  "PlaygroundSampleDocument",
];
/** A like is in the cache before it is sent, so it needs its post. */
const VARIABLES = { input: { postId: "p" } };

const modules = import.meta.glob<Record<string, AnyDocument>>(["../**/*.generated.ts", "!../{operations,browse}/*"], {
  eager: true,
});
const documents = Object.values(modules).flatMap((exported) =>
  Object.entries(exported).filter(([name]) => name.endsWith("Document")),
);

const sent: string[] = [];
let client: Client;

/** A live connection that is there at once, and on which nothing ever happens. */
class LiveConnection {
  static readonly OPEN = 1;
  readonly readyState = LiveConnection.OPEN;
  onopen?: () => void;
  onmessage?: (message: { data: string }) => void;

  constructor() {
    queueMicrotask(() => this.onopen?.());
  }

  send(text: string): void {
    const message = JSON.parse(text) as { type: string; payload?: { query: string } };
    if (message.type === "connection_init") {
      queueMicrotask(() => this.onmessage?.({ data: '{"type":"connection_ack"}' }));
    } else if (message.type === "subscribe") {
      sent.push(message.payload?.query ?? "");
    }
  }

  close(): void {
    // There is no listener.
  }
}

beforeAll(async () => {
  vi.stubGlobal("WebSocket", LiveConnection);
  vi.stubGlobal("fetch", (_url: string, init: RequestInit) => {
    sent.push((JSON.parse(init.body as string) as { query: string }).query);
    return Promise.resolve(new Response('{"data":null}', { headers: { "content-type": "application/json" } }));
  });
  client = (await import("./client.js")).createClient();
});

afterAll(() => {
  vi.unstubAllGlobals();
});

/** The text that goes over the wire when a page uses a document. */
async function textSent(name: string, document: AnyDocument): Promise<string> {
  sent.length = 0;
  const kind = getOperationAST(document)?.operation;
  if (ASKED.includes(name)) {
    await ask(document, VARIABLES);
  } else if (kind === OperationTypeNode.SUBSCRIPTION) {
    client.subscription(document, VARIABLES).subscribe(() => undefined);
  } else if (kind === OperationTypeNode.MUTATION) {
    void client.mutation(document, VARIABLES).toPromise();
  } else {
    void client.query(document, VARIABLES).toPromise();
  }
  await expect.poll(() => sent).toHaveLength(1);
  return sent[0] ?? "";
}

async function idOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return `sha256:${Buffer.from(digest).toString("hex")}`;
}

describe("the trusted documents", () => {
  test.each(documents)("have %s to the byte as the page sends it", async (name, document) => {
    const text = await textSent(name, document);
    expect(Object.values(trusted)).toContain(text);
  });

  test.each(examples)("have $request of the playground as its fetcher sends it", async ({ document }) => {
    sent.length = 0;
    const fetcher = createFetcher({ accessToken: () => null, onResponse: () => undefined });
    await fetcher({ query: document }, { documentAST: parse(document) });
    expect(Object.values(trusted)).toContain(sent[0]);
  });

  test("have a document for each that the page sends and no other, each by its hash", async () => {
    expect(Object.keys(trusted)).toHaveLength(documents.length + examples.length);
    for (const [id, text] of Object.entries(trusted)) {
      expect(id).toBe(await idOf(text));
    }
  });
});
