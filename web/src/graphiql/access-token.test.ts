import { beforeEach, describe, expect, test } from "vitest";
import { issuedAccessToken, readAccessToken, storeAccessToken, takeOverSession } from "./access-token.js";

beforeEach(() => {
  sessionStorage.clear();
  localStorage.clear();
});

describe("the access token", () => {
  test("is kept for the browser tab alone", () => {
    storeAccessToken("secret");
    expect(readAccessToken()).toBe("secret");
    expect(localStorage).toHaveLength(0);
  });

  test("is forgotten when emptied", () => {
    storeAccessToken("secret");
    expect(storeAccessToken("  ")).toBeNull();
    expect(readAccessToken()).toBeNull();
    expect(sessionStorage).toHaveLength(0);
  });

  test.each(["secret", " secret\n", "Bearer secret", "bearer  secret", '"secret"'])("pasted as %j is understood", (pasted) => {
    expect(storeAccessToken(pasted)).toBe("secret");
  });
});

describe("whoever is signed in on the pages", () => {
  beforeEach(() => {
    localStorage.setItem("onehop:session", JSON.stringify({ user: { id: "u", username: "ada" }, accessToken: "hers" }));
  });

  test("is signed in here, too", () => {
    takeOverSession();
    expect(readAccessToken()).toBe("hers");
  });

  test("gives way to the token of this tab", () => {
    storeAccessToken("other");
    takeOverSession();
    expect(readAccessToken()).toBe("other");
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
