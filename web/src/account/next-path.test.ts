import { expect, test } from "vitest";
import { nextPath } from "./next-path.js";

test.each([
  [null, "/"],
  ["/posts/p1", "/posts/p1"],
  ["/write?x=1", "/write?x=1"],
  ["https://evil.example/", "/"],
  ["//evil.example/", "/"],
  ["/\\evil.example", "/"],
  ["javascript:alert(1)", "/"],
  ["/.//evil.example", "/"],
  ["/posts/..//evil.example", "/"],
  ["/\t/evil.example", "/"],
  ["//[", "/"],
  ["/[", "/["],
  ["", "/"],
  ["https://onehop.invalid/write", "/"],
])("after signing in, %j leads to %j", (next, expected) => {
  expect(nextPath(next)).toBe(expected);
});
