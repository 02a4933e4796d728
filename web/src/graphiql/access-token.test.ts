import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { issuedAccessToken, keepAccessToken, readAccessToken, takeOverSession } from "./access-token.js";

beforeEach(() => {
  sessionStorage.clear();
  localStorage.clear();
  keepAccessToken("");
});

afterEach(() => {
  vi.unstubAllGlobals();
});

describe("the access token", () => {
  test("is kept in memory alone", () => {
    keepAccessToken("secret");
    expect(readAccessToken()).toBe("secret");
    expect([localStorage.length, sessionStorage.length]).toEqual([0, 0]);
  });

  test("is forgotten when emptied", () => {
    keepAccessToken("secret");
    expect(keepAccessToken("  ")).toBeNull();
    expect(readAccessToken()).toBeNull();
  });

  test.each(["secret", " secret\n", "Bearer secret", "bearer  secret", '"secret"'])(
    "pasted as %j is understood",
    (pasted) => {
      expect(keepAccessToken(pasted)).toBe("secret");
    },
  );
});

describe("the user who is signed in on the pages", () => {
  const user = { id: "u", username: "ada" };

  test("is signed in here, too", async () => {
    localStorage.setItem("onehop:session", JSON.stringify({ user }));
    vi.stubGlobal("fetch", () => Promise.resolve(Response.json({ accessToken: "hers", expiresIn: 60, user })));
    await takeOverSession();
    expect(readAccessToken()).toBe("hers");
  });

  test("is anonymous where the session has ended or cannot be renewed", async () => {
    localStorage.setItem("onehop:session", JSON.stringify({ user }));
    for (const answer of [
      Promise.resolve(new Response(null, { status: 204 })),
      Promise.reject(new TypeError("offline")),
    ]) {
      vi.stubGlobal("fetch", () => answer);
      await takeOverSession();
      expect(readAccessToken()).toBeNull();
    }
  });

  test("has what an older version stored removed", async () => {
    sessionStorage.setItem("onehop:accessToken", "secret");
    await takeOverSession();
    expect(sessionStorage).toHaveLength(0);
  });
});

describe("issuedAccessToken", () => {
  test.each([
    [{ createUser: { accessToken: "new", user: { id: "u" } } }, "new"],
    [{ again: { accessToken: "aliased" } }, "aliased"],
    [{ feed: { nodes: [] }, viewer: null }, null],
    [null, null],
    [undefined, null],
  ])("of %j is %j", (data, expected) => {
    expect(issuedAccessToken(data)).toBe(expected);
  });
});
