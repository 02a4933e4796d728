import { afterEach, describe, expect, test, vi } from "vitest";
import { readSample } from "./sample.js";

function serverAnswers(body: unknown): ReturnType<typeof vi.fn<typeof fetch>> {
  const fetched = vi.fn<typeof fetch>().mockResolvedValue(new Response(JSON.stringify(body)));
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

afterEach(() => {
  vi.unstubAllGlobals();
});

describe("readSample", () => {
  test("takes the liveliest post of the feed, its author, and the reader's newest post", async () => {
    serverAnswers({
      data: {
        feed: {
          nodes: [
            { id: "quiet", commentCount: 0, likeCount: 1, author: { id: "ada" } },
            { id: "lively", commentCount: 3, likeCount: 1, author: { id: "grace" } },
          ],
        },
        viewer: { posts: { nodes: [{ id: "own" }] } },
      },
    });
    expect(await readSample("secret")).toMatchObject({ userId: "grace", postId: "lively", ownPostId: "own" });
  });

  test("asks for the reader's posts only with a token", async () => {
    const fetched = serverAnswers({ data: { feed: { nodes: [] } } });
    await readSample(null);
    expect(fetched.mock.calls[0]?.[1]?.body).toContain('"variables":{"signedIn":false}');
  });

  test.each([
    ["an empty platform", { data: { feed: { nodes: [] } } }],
    ["a refusal", { errors: [{ message: "No." }] }],
    ["something else", "teapot"],
  ])("%s leaves words that say where an id comes from", async (_name, body) => {
    serverAnswers(body);
    const { userId, postId, freeUsername } = await readSample(null);
    expect(userId).toContain("C1");
    expect(postId).toContain("C2");
    expect(freeUsername).toMatch(/^reader[a-z0-9]+$/);
  });
});
