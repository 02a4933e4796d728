import { expect, test } from "vitest";
import { keyIn } from "./operator-key.js";

test.each([
  ["#key=abc-D_9", "abc-D_9"],
  ["#key=", null],
  ["#key=a b", null],
  ["#/types/Site", null],
  ["", null],
])("the fragment %s has the key %s", (fragment, key) => {
  expect(keyIn(fragment)).toBe(key);
});
