import { afterEach, describe, expect, test, vi } from "vitest";
import { introspect } from "./introspection.js";

const refusal = (code: string) => ({ errors: [{ message: "No.", extensions: { code } }] });

function serverAnswers(body: unknown): ReturnType<typeof vi.fn<typeof fetch>> {
  const fetched = vi.fn<typeof fetch>().mockResolvedValue(new Response(JSON.stringify(body)));
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

afterEach(() => {
  vi.unstubAllGlobals();
});

describe("the schema", () => {
  test.each([
    ["is available in the response", { data: { __schema: {} } }, "available"],
    ["is disabled by the server", refusal("GRAPHQL_VALIDATION_FAILED"), "disabled"],
    ["is refused where only trusted documents run", refusal("FORBIDDEN"), "trusted-only"],
    ["is left to GraphiQL where the request is refused for another reason", refusal("LIMIT_EXCEEDED"), "available"],
  ])("%s", async (_name, body, access) => {
    serverAnswers(body);
    expect(await introspect(null)).toEqual({ access, response: body });
  });

  test("is left to GraphiQL where nothing comes", async () => {
    serverAnswers("teapot");
    expect(await introspect(null)).toEqual({ access: "available", response: null });
  });

  test("is asked for so that a refusal is no error to the browser", async () => {
    const fetched = serverAnswers({ data: { __schema: {} } });
    await introspect("secret");
    expect(fetched.mock.calls[0]?.[1]?.headers).toMatchObject({
      accept: "application/json",
      authorization: "Bearer secret",
    });
  });
});
