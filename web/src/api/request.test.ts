import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import { parse } from "graphql";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ask, postGraphql, RefusedRequest, requestChargeOf, UnreachableServer } from "./request.js";

const ViewerQuery = parse("query Viewer { viewer { username } }") as TypedDocumentNode<
  { viewer: { username: string } | null },
  Record<string, never>
>;

function serverAnswers(body: unknown, status = 200): ReturnType<typeof vi.fn<typeof fetch>> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const fetched = vi.fn<typeof fetch>().mockResolvedValue(new Response(text, { status }));
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

afterEach(() => {
  vi.unstubAllGlobals();
});

describe("ask", () => {
  test("posts the document as GraphQL over HTTP and answers the data with its request charge", async () => {
    const fetched = serverAnswers({ data: { viewer: { username: "ada" } }, extensions: { requestCharge: 1.5 } });

    const answer = await ask(ViewerQuery, {}, { accessToken: "secret" });

    expect(answer).toEqual({ data: { viewer: { username: "ada" } }, requestCharge: 1.5 });
    const [url, init] = fetched.mock.calls[0] ?? [];
    expect(url).toBe("/graphql");
    expect(init).toMatchObject({
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer secret" },
    });
    expect(init?.body).toContain("query Viewer");
  });

  test("a response with errors is refused with the first error's message and code", async () => {
    serverAnswers(
      { data: null, errors: [{ message: "Sign in first.", extensions: { code: "UNAUTHENTICATED" } }] },
      401,
    );

    const refused = ask(ViewerQuery, {});

    await expect(refused).rejects.toBeInstanceOf(RefusedRequest);
    await expect(refused).rejects.toMatchObject({ message: "Sign in first.", code: "UNAUTHENTICATED" });
  });

  test("a body that is not a GraphQL response counts as an unreachable server, and the status is named", async () => {
    serverAnswers("<h1>Bad Gateway</h1>", 502);
    await expect(ask(ViewerQuery, {})).rejects.toThrow(/502/);
  });

  test("a failed connection counts as an unreachable server", async () => {
    vi.stubGlobal("fetch", vi.fn<typeof fetch>().mockRejectedValue(new TypeError("Failed to fetch")));
    await expect(ask(ViewerQuery, {})).rejects.toBeInstanceOf(UnreachableServer);
  });

  test("an aborted question throws the reason of its signal", async () => {
    const controller = new AbortController();
    vi.stubGlobal("fetch", () => {
      controller.abort();
      return Promise.reject(new DOMException("aborted", "AbortError"));
    });
    await expect(ask(ViewerQuery, {}, { signal: controller.signal })).rejects.toBe(controller.signal.reason);
  });
});

describe("postGraphql", () => {
  test("hands on partial data together with its errors", async () => {
    const partial = { data: { viewer: null }, errors: [{ message: "No." }] };
    serverAnswers(partial);
    expect(await postGraphql({ query: "{ viewer { id } }" })).toEqual(partial);
  });
});

describe("requestChargeOf", () => {
  test.each([
    [{ extensions: { requestCharge: 0 } }, 0],
    [{ extensions: { requestCharge: "12" } }, null],
    [{ extensions: {} }, null],
    [{}, null],
  ])("of %j is %j", (response, expected) => {
    expect(requestChargeOf(response)).toBe(expected);
  });
});
