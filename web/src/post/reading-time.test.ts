import { expect, test } from "vitest";
import { readingTime } from "./reading-time.js";

test.each([
  ["", "1 min read"],
  ["one word", "1 min read"],
  ["word ".repeat(230 * 4), "4 min read"],
  ["word\n\n".repeat(230_000), "1,000 min read"],
])("the reading time of a text", (text, expected) => {
  expect(readingTime(text)).toBe(expected);
});
