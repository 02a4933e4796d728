/** The set-up of urql and Apollo Client in docs/api.md, as it is written there. */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ApolloClient } from "@apollo/client";
import { gql as documentOf } from "@apollo/client";
import type { Client } from "@urql/core";
import { buildSchema, isScalarType, isSpecifiedScalarType, isInterfaceType } from "graphql";
import type { Client as LiveClient } from "graphql-ws";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { workerUrl } from "../worker.js";

interface Session {
  keepTokens: (tokens: { accessToken: string; refreshToken: string } | null) => void;
}

const url = workerUrl;
const root = join(import.meta.dirname, "..", "..", "..");
const folder = join(import.meta.dirname, "documented");

const FEED = documentOf`query Feed($after: String) {
  feed(first: 2, after: $after) { edges { cursor node { id title } } pageInfo { hasNextPage endCursor } }
}`;
const VIEWER = documentOf`query Viewer { viewer { id username } }`;
const CREATE_POST = documentOf`mutation Create($input: CreatePostInput!) { createPost(input: $input) { post { id title } } }`;
const ADDED = documentOf`subscription Added { feedPostAdded { id title } }`;

let session: Session;
let tokens: { accessToken: string; refreshToken: string };
let username: string;

beforeAll(async () => {
  const documents = await readFile(join(root, "docs", "api.md"), "utf8");
  await mkdir(folder, { recursive: true });
  for (const [, name = "", text = ""] of documents.matchAll(/```ts\n\/\/ (\w+\.ts)\n(.*?)```/gs)) {
    await writeFile(join(folder, name), text.replaceAll("http://127.0.0.1:8080", url));
  }
  // Browsers and Node 22 have one.
  Object.assign(globalThis, { WebSocket });
  session = await load<Session>("session.ts");
  username = `doc${Date.now().toString(36)}`;
  const query = `mutation($input: CreateUserInput!) { createUser(input: $input) { accessToken refreshToken } }`;
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, variables: { input: { username, password: "a hop for each client" } } }),
  });
  tokens = ((await response.json()) as { data: { createUser: typeof tokens } }).data.createUser;
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

function load<Module>(name: string): Promise<Module> {
  return import(/* @vite-ignore */ join(folder, name)) as Promise<Module>;
}

/** A session whose access token is not taken any more. Each renewal replaces the refresh token. */
async function keepExpired(): Promise<void> {
  const query = `mutation($input: RenewSessionInput!) { renewSession(input: $input) { accessToken refreshToken } }`;
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, variables: { input: { refreshToken: tokens.refreshToken } } }),
  });
  tokens = ((await response.json()) as { data: { renewSession: typeof tokens } }).data.renewSession;
  session.keepTokens({ ...tokens, accessToken: "expired" });
}

interface Page {
  edges: { node: { id: string } }[];
  pageInfo: { endCursor: string };
}

describe("urql", () => {
  let urql: Client;
  let live: LiveClient;

  beforeAll(async () => {
    ({ urql, live } = await load<{ urql: Client; live: LiveClient }>("urql.ts"));
  });

  afterAll(async () => {
    await live.dispose();
  });

  test("reads page after page, and the cache joins them", async () => {
    const first = await urql.query<{ feed: Page }>(FEED, {}).toPromise();
    const after = first.data?.feed.pageInfo.endCursor;
    const second = await urql.query<{ feed: Page }>(FEED, { after }).toPromise();
    expect(second.error).toBeUndefined();
    expect(second.data?.feed.edges.map(({ node }) => node.id)).toHaveLength(4);
  });

  test("renews the session, and sends the request again", async () => {
    await keepExpired();
    const { data } = await urql.query<{ viewer: { username: string } }>(VIEWER, {}).toPromise();
    expect(data?.viewer.username).toBe(username);
  });

  test("hears of a new post", async () => {
    const heard = new Promise<string>((resolve) => {
      urql.subscription<{ feedPostAdded: { title: string } }>(ADDED, {}).subscribe(({ data }) => {
        resolve(data?.feedPostAdded.title ?? "");
      });
    });
    await live.iterate({ query: "{ viewer { id } }" }).next();
    await urql.mutation(CREATE_POST, { input: { title: "By urql", content: "Words." } }).toPromise();
    expect(await heard).toBe("By urql");
  });
});

describe("Apollo Client", () => {
  let apollo: ApolloClient;
  let live: LiveClient;

  beforeAll(async () => {
    ({ apollo, live } = await load<{ apollo: ApolloClient; live: LiveClient }>("apollo.ts"));
  });

  afterAll(async () => {
    apollo.stop();
    await live.dispose();
  });

  test("reads page after page, and the cache joins them", async () => {
    const watched = apollo.watchQuery<{ feed: Page }>({ query: FEED });
    const shown = (): Page | undefined => watched.getCurrentResult().data?.feed as Page | undefined;
    const reading = watched.subscribe(() => undefined);
    await expect.poll(() => shown()?.edges.length).toBe(2);
    await watched.fetchMore({ variables: { after: shown()?.pageInfo.endCursor } });
    await expect.poll(() => shown()?.edges.length).toBe(4);
    reading.unsubscribe();
  });

  test("renews the session, and sends the request again", async () => {
    await keepExpired();
    const { data } = await apollo.query({ query: VIEWER });
    expect(data).toMatchObject({ viewer: { username } });
  });

  test("hears of a new post", async () => {
    const heard = new Promise<string>((resolve) => {
      apollo.subscribe<{ feedPostAdded: { title: string } }>({ query: ADDED }).subscribe(({ data }) => {
        resolve(data?.feedPostAdded.title ?? "");
      });
    });
    await live.iterate({ query: "{ viewer { id } }" }).next();
    await apollo.mutate({ mutation: CREATE_POST, variables: { input: { title: "By Apollo", content: "Words." } } });
    expect(await heard).toBe("By Apollo");
  });
});

test("the types of code generation know every scalar, and Apollo every node", async () => {
  const schema = buildSchema(await readFile(join(root, "schema.graphql"), "utf8"));
  const types = Object.values(schema.getTypeMap());
  const scalars = types.filter((type) => isScalarType(type) && !isSpecifiedScalarType(type)).map(({ name }) => name);
  const { default: config } = await load<{ default: { config: { scalars: Record<string, string> } } }>("codegen.ts");
  expect(Object.keys(config.config.scalars).toSorted()).toEqual(scalars.toSorted());
  const node = types.find((type) => isInterfaceType(type) && type.name === "Node");
  const nodes = isInterfaceType(node) ? schema.getPossibleTypes(node).map(({ name }) => name) : [];
  const apollo = await readFile(join(folder, "apollo.ts"), "utf8");
  expect(nodes.filter((name) => !apollo.includes(`"${name}"`))).toEqual([]);
});
