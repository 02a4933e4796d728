/** The server as the client `graphql-ws` sees it, and cases that only a raw socket can send. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, type Client, type ClientOptions } from "graphql-ws";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { startServer, type Server } from "../server.js";
import { CREATE_POST, endpoint, FEED, POST, signUp } from "./blog.js";

const url = socketUrl(endpoint);
const clients: Client[] = [];

function socketUrl(endpoint: string): string {
  return endpoint.replace(/^http/, "ws");
}

function connect(options: Partial<ClientOptions> = {}): Client {
  const client = createClient({ url, webSocketImpl: WebSocket, retryAttempts: 0, ...options });
  clients.push(client);
  return client;
}

function as(accessToken: string): Partial<ClientOptions> {
  return { connectionParams: { authorization: `Bearer ${accessToken}` } };
}

/** A query on the same socket: its response means that all earlier operations have started. */
async function begun(client: Client): Promise<void> {
  await client.iterate({ query: "{ viewer { id } }" }).next();
}

afterEach(async () => {
  for (const client of clients.splice(0)) {
    await client.dispose();
  }
});

describe("the client graphql-ws", () => {
  test("gets one result of a query, and its end", async () => {
    const { accessToken } = await signUp();
    const results = connect(as(accessToken)).iterate({ query: "{ viewer { username } }" });
    const { value } = (await results.next()) as { value: { data: { viewer: unknown } } };
    expect(value.data.viewer).not.toBeNull();
    expect(await results.next()).toEqual({ done: true, value: undefined });
  });

  test("hears of a post that enters the feed", async () => {
    const [writer, client] = [await signUp(), connect()];
    const events = client.iterate<{ feedChanged: { id: string; title: string } }>({ query: FEED });
    const first = events.next();
    await begun(client);
    const id = await writer.post("Heard over a WebSocket");
    expect(await first).toMatchObject({ value: { data: { feedChanged: { id, title: "Heard over a WebSocket" } } } });
  });

  test("hears of each change of a post, as its own user sees it, until it has enough", async () => {
    const writer = await signUp();
    const id = await writer.post("Liked");
    const client = connect(as(writer.accessToken));
    const events = client.iterate<{ postChanged: unknown }>({ query: POST, variables: { id } });
    const first = events.next();
    await begun(client);
    await writer.like(id);
    expect(await first).toMatchObject({
      value: {
        data: { postChanged: { likeCount: 1, viewerHasLiked: true } },
        extensions: { requestCharge: expect.any(Number) as number },
      },
    });
    const second = events.next();
    await writer.unlike(id);
    expect(await second).toMatchObject({ value: { data: { postChanged: { likeCount: 0, viewerHasLiked: false } } } });
    await events.return?.();
    await writer.like(id);
    await begun(client);
  });

  test("gets the result of a mutation, and hears of what it wrote", async () => {
    const { accessToken } = await signUp();
    const client = connect(as(accessToken));
    const first = client.iterate({ query: FEED }).next();
    await begun(client);
    const mutation = client.iterate({ query: CREATE_POST, variables: { title: "Written over a WebSocket" } });
    const { value } = (await mutation.next()) as { value: { data: { createPost: { post: { id: string } } } } };
    const feedChanged = { id: value.data.createPost.post.id, title: "Written over a WebSocket" };
    expect(await mutation.next()).toEqual({ done: true, value: undefined });
    expect(await first).toMatchObject({ value: { data: { feedChanged } } });
  });

  test("gets the error of a request that cannot be executed", async () => {
    for (const [query, code] of [
      ["{ nothing }", "GRAPHQL_VALIDATION_FAILED"],
      ["{ unclosed", "GRAPHQL_PARSE_FAILED"],
      ["subscription { feedChanged { id } other: feedChanged { id } }", "GRAPHQL_VALIDATION_FAILED"],
      ['subscription { postChanged(id: "x") { id } }', "BAD_USER_INPUT"],
    ] as const) {
      const refused = connect().iterate({ query }).next();
      await expect(refused, query).rejects.toMatchObject([{ extensions: { code } }]);
    }
  });

  test("is closed with 4403 when its token is forged", async () => {
    await expect(connect(as("x.y.z")).iterate({ query: "{ viewer { id } }" }).next()).rejects.toMatchObject({
      code: 4403,
      reason: "Forbidden",
    });
  });

  test("has its pings answered", async () => {
    const client = connect({ lazy: false, keepAlive: 10 });
    await new Promise<void>((resolve) => {
      client.on("pong", (received) => {
        if (received) {
          resolve();
        }
      });
    });
  });

  test("runs many operations on one socket", async () => {
    const client = connect({ lazy: false });
    const answers = Array.from({ length: 50 }, () =>
      client.iterate({ query: "{ feed(first: 1) { nodes { id } } }" }).next(),
    );
    for (const answer of await Promise.all(answers)) {
      expect(answer).toMatchObject({ done: false, value: { data: { feed: { nodes: [expect.anything()] } } } });
    }
  });
});

const { ONEHOP_BIN: binary = "" } = process.env;

describe.skipIf(binary === "")("the client graphql-ws, when its server goes away", () => {
  test.each(["stop", "kill"] as const)("subscribes again to the next one (%s)", async (goAway) => {
    const data = await mkdtemp(join(tmpdir(), "onehop-live-"));
    let server: Server = await startServer({ binary, data });
    onTestFinished(async () => {
      await server.kill();
      await rm(data, { recursive: true });
    });
    const there = `${server.url}/graphql`;
    const writer = await signUp(there);
    const [restarted, restart] = promised();
    const [reconnected, reconnect] = promised();
    const client = connect({ url: socketUrl(there), retryAttempts: 1, retryWait: () => restarted });
    const events = client.iterate({ query: FEED });
    const first = events.next();
    await begun(client);
    await server[goAway]();
    client.on("connected", reconnect);
    server = await startServer({ binary, data, port: Number(new URL(server.url).port) });
    restart();
    await reconnected;
    await begun(client);
    const id = await writer.post("Heard from the next server");
    expect(await first).toMatchObject({ value: { data: { feedChanged: { id } } } });
  });

  function promised(): [Promise<void>, () => void] {
    let resolve = (): void => undefined;
    const promise = new Promise<void>((resolved) => {
      resolve = resolved;
    });
    return [promise, resolve];
  }
});

describe("a raw socket", () => {
  /** Why the server closes a socket on which this is said. */
  function closing(subprotocol: string | undefined, said: string[]): Promise<{ code: number; reason: string }> {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(url, subprotocol);
      socket.on("open", () => {
        said.forEach((message) => {
          socket.send(message);
        });
      });
      socket.on("close", (code, reason) => {
        resolve({ code, reason: reason.toString() });
      });
      socket.on("error", reject);
    });
  }

  const init = JSON.stringify({ type: "connection_init" });
  const subscribe = JSON.stringify({ type: "subscribe", id: "1", payload: { query: FEED } });

  test.each([
    [4400, ["{}"], /^Invalid message/],
    [4401, [subscribe], /^Unauthorized$/],
    [4403, [JSON.stringify({ type: "connection_init", payload: { authorization: "Bearer x" } })], /^Forbidden$/],
    [4408, [], /^Connection initialisation timeout$/],
    [4409, [init, subscribe, subscribe], /^Subscriber for 1 already exists$/],
    [4429, [init, init], /^Too many initialisation requests$/],
  ])("is closed with %i", async (code, said, reason) => {
    const closed = await closing("graphql-transport-ws", said);
    expect(closed).toMatchObject({ code, reason: expect.stringMatching(reason) as string });
  });

  test("that asks for no protocol is closed with 4406", async () => {
    expect(await closing(undefined, [init])).toEqual({ code: 4406, reason: "Subprotocol not acceptable" });
  });

  test("of the legacy protocol is refused by its client, since the server does not answer with it", async () => {
    await expect(closing("graphql-ws", [])).rejects.toThrow("Server sent no subprotocol");
  });
});
