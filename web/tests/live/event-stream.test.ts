/** The server as the client `graphql-sse` sees it, in the mode of distinct connections. */
import { createClient, NetworkError, type Client, type ClientOptions } from "graphql-sse";
import { afterEach, describe, expect, test } from "vitest";
import { CREATE_POST, endpoint, FEED, POST, signUp } from "./blog.js";

const clients: Client[] = [];

/** A client, and a promise of the opening of its next stream. */
function connect(options: Partial<ClientOptions> = {}): { client: Client; open: Promise<void> } {
  let opened: () => void;
  const open = new Promise<void>((resolve) => {
    opened = resolve;
  });
  const client = createClient({
    url: endpoint,
    retryAttempts: 0,
    on: {
      connected: () => {
        opened();
      },
    },
    ...options,
  });
  clients.push(client);
  return { client, open };
}

afterEach(() => {
  clients.splice(0).forEach((client) => {
    client.dispose();
  });
});

describe("the client graphql-sse", () => {
  test("gets one result of a query, and its end", async () => {
    const { accessToken } = await signUp();
    const { client } = connect({ headers: { authorization: `Bearer ${accessToken}` } });
    const results = client.iterate<{ viewer: unknown }>({ query: "{ viewer { username } }" });
    const { value } = (await results.next()) as { value: { data: { viewer: unknown } } };
    expect(value.data.viewer).not.toBeNull();
    expect(await results.next()).toEqual({ done: true, value: undefined });
  });

  test("hears of a post that enters the feed", async () => {
    const writer = await signUp();
    const { client, open } = connect();
    const first = client.iterate({ query: FEED }).next();
    await open;
    const id = await writer.post("Heard as an event");
    expect(await first).toMatchObject({ value: { data: { feedChanged: { id, title: "Heard as an event" } } } });
  });

  test("hears of each change of a post, as its own user sees it", async () => {
    const writer = await signUp();
    const id = await writer.post("Liked");
    const { client, open } = connect({ headers: { authorization: `Bearer ${writer.accessToken}` } });
    const events = client.iterate({ query: POST, variables: { id } });
    const first = events.next();
    await open;
    await writer.like(id);
    expect(await first).toMatchObject({ value: { data: { postChanged: { likeCount: 1, viewerHasLiked: true } } } });
    const second = events.next();
    await writer.unlike(id);
    expect(await second).toMatchObject({ value: { data: { postChanged: { likeCount: 0, viewerHasLiked: false } } } });
  });

  test("gets the result of a mutation, as the user of its token", async () => {
    const { accessToken } = await signUp();
    const variables = { title: "Written over an event stream" };
    const written = connect({ headers: { authorization: `Bearer ${accessToken}` } }).client.iterate({
      query: CREATE_POST,
      variables,
    });
    expect(await written.next()).toMatchObject({
      value: { data: { createPost: { post: { id: expect.any(String) as string } } } },
    });
    expect(await written.next()).toEqual({ done: true, value: undefined });
    const refused = connect().client.iterate({ query: CREATE_POST, variables });
    expect(await refused.next()).toMatchObject({ value: { errors: [{ extensions: { code: "UNAUTHENTICATED" } }] } });
  });

  test("gets an event with the error of a well-formed request", async () => {
    for (const [query, code] of [
      ["{ nothing }", "GRAPHQL_VALIDATION_FAILED"],
      ["{ unclosed", "GRAPHQL_PARSE_FAILED"],
      ['subscription { postChanged(id: "x") { id } }', "BAD_USER_INPUT"],
    ] as const) {
      const results = connect().client.iterate({ query });
      expect(await results.next(), query).toMatchObject({ value: { errors: [{ extensions: { code } }] } });
      expect(await results.next()).toEqual({ done: true, value: undefined });
    }
  });

  test("is refused by the status when its token is forged", async () => {
    const { client } = connect({ headers: { authorization: "Bearer x.y.z" } });
    const refused = client.iterate({ query: FEED }).next();
    await expect(refused).rejects.toSatisfy(
      (error) => error instanceof NetworkError && (error as NetworkError<Response>).response?.status === 401,
    );
  });
});
