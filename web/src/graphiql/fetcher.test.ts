import { parse } from "graphql";
import { beforeEach, afterEach, describe, expect, test, vi } from "vitest";
import { createFetcher } from "./fetcher.js";
import { INTROSPECTION_NAME, INTROSPECTION_QUERY } from "./introspection.js";

const response = { data: { viewer: null }, extensions: { requestCharge: 2 } };
const fetched = vi.fn<typeof fetch>();
const onResponse = vi.fn();

beforeEach(() => {
  fetched.mockReset().mockImplementation(() => Promise.resolve(new Response(JSON.stringify(response))));
  onResponse.mockReset();
  vi.stubGlobal("fetch", fetched);
});

afterEach(() => {
  vi.unstubAllGlobals();
});

async function run(
  accessToken: string | null,
  headers: Record<string, string> = {},
  operationName = "Q6Feed",
): Promise<Headers> {
  const fetcher = createFetcher({ accessToken: () => accessToken, onResponse });
  await fetcher({ query: "query Q6Feed { viewer { id } }", operationName }, { headers });
  return new Headers(fetched.mock.calls[0]?.[1]?.headers);
}

describe("the fetcher", () => {
  test("sends the stored token as a bearer token", async () => {
    expect((await run("secret")).get("authorization")).toBe("Bearer secret");
  });

  test("sends no authorization without a token", async () => {
    expect((await run(null)).has("authorization")).toBe(false);
  });

  test.each(["Authorization", "authorization"])("lets %s from the headers editor go first", async (name) => {
    expect((await run("secret", { [name]: "Bearer other" })).get("authorization")).toBe("Bearer other");
  });

  test("keeps the other headers of the headers editor beside the token", async () => {
    const headers = await run("secret", { "x-request-id": "1" });
    expect(headers.get("x-request-id")).toBe("1");
    expect(headers.get("authorization")).toBe("Bearer secret");
  });

  test("reports a response with its operation, except introspection", async () => {
    await run(null);
    expect(onResponse).toHaveBeenCalledExactlyOnceWith(response, "Q6Feed");
    onResponse.mockReset();
    await run(null, {}, "IntrospectionQuery");
    expect(onResponse).not.toHaveBeenCalled();
  });

  test("answers the first introspection with the schema that is there, and asks for it from then on", async () => {
    const introspected = { data: { __schema: {} } };
    const fetcher = createFetcher({ accessToken: () => null, onResponse, introspected });
    const introspect = () => fetcher({ query: INTROSPECTION_QUERY, operationName: INTROSPECTION_NAME });
    expect(await introspect()).toBe(introspected);
    expect(fetched).not.toHaveBeenCalled();
    expect(await introspect()).toEqual(response);
  });

  test("requests an event stream for a subscription, and reports each event", async () => {
    const events = [1, 2].map((likeCount) => ({
      data: { postChanged: { likeCount } },
      extensions: { requestCharge: 0 },
    }));
    const body = [
      ":",
      ...events.map((event) => `event: next\ndata: ${JSON.stringify(event)}`),
      "event: complete\ndata: ",
    ];
    const headers = { "content-type": "text/event-stream; charset=utf-8" };
    fetched.mockImplementation(() => Promise.resolve(new Response(`${body.join("\n\n")}\n\n`, { headers })));
    const query = "query Q { viewer { id } } subscription S { feedChanged { likeCount } }";
    const fetcher = createFetcher({ accessToken: () => "secret", onResponse });
    const results = await fetcher({ query, operationName: "S" }, { documentAST: parse(query) });
    const heard: unknown[] = [];
    for await (const result of results as AsyncIterable<unknown>) {
      heard.push(result);
    }
    expect(heard).toEqual(events);
    expect(onResponse.mock.calls).toEqual(events.map((event) => [event, "S"]));
    const sent = new Headers(fetched.mock.calls[0]?.[1]?.headers);
    expect([sent.get("accept"), sent.get("authorization")]).toEqual(["text/event-stream", "Bearer secret"]);
  });

  test("asks for one answer where a document also subscribes and something else is run", async () => {
    const query = "query Q { viewer { id } } subscription S { feedChanged { likeCount } }";
    const fetcher = createFetcher({ accessToken: () => null, onResponse });
    expect(await fetcher({ query, operationName: "Q" }, { documentAST: parse(query) })).toEqual(response);
  });
});
