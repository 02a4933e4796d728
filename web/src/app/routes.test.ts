import { expect, test } from "vitest";
import { matches } from "./routes.js";

test.each([
  ["/", "/", true],
  ["/posts/:id", "/posts/p1", true],
  ["/posts/:id", "/posts/p1/edit", false],
  ["/posts/:id/edit", "/posts/p1/edit", true],
  ["/write", "/writes", false],
])("the pattern %s for the path %s: %s", (pattern, pathname, expected) => {
  expect(matches(pattern, pathname)).toBe(expected);
});
