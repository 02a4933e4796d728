import { describe, expect, test } from "vitest";
import { counted } from "./count.js";
import { lengthOf, limitInWords } from "./limits.js";
import { cutInWords, withoutMarks } from "./summary.js";
import { whenInWords } from "./when.js";

const now = new Date("2026-03-10T12:00:00Z");

describe("an age", () => {
  test.each([
    ["2026-03-10T11:59:40Z", "just now"],
    ["2026-03-10T12:00:09Z", "just now"],
    ["2026-03-10T11:55:00Z", "5 minutes ago"],
    ["2026-03-10T10:00:00Z", "2 hours ago"],
    ["2026-03-09T11:00:00Z", "yesterday"],
    ["2026-01-05T12:00:00Z", "January 5"],
    ["2025-12-30T12:00:00Z", "December 30, 2025"],
  ])("of %s is %j", (date, expected) => {
    expect(whenInWords(new Date(date), now)).toBe(expected);
  });
});

describe("a length", () => {
  test("counts characters as the server does", () => {
    expect(lengthOf("a😀é")).toBe(3);
  });

  test("is told beside its limit, and by how much it is over", () => {
    expect(limitInWords("four", 200)).toBe("4 of 200");
    expect(limitInWords("x".repeat(203), 200)).toBe("3 too many");
  });
});

test("one is counted as one", () => {
  expect([counted(0, "like"), counted(1, "like"), counted(1024, "copy", "copies")]).toEqual(["0 likes", "1 like", "1,024 copies"]);
});

test("a summary that was cut says so", () => {
  expect([cutInWords("and the"), cutInWords("The end.")]).toEqual(["and the …", "The end."]);
});

describe("a summary without marks", () => {
  test.each([
    ["# Hello\n\nSome **bold** text, a [link](https://example.com) and `code`.", "Hello\n\nSome bold text, a link and code."],
    ["Before\n## A heading, *then* __more__ (_so_) and ![a picture](p.png)", "Before\nA heading, then more (so) and a picture"],
    ["> Said before. See [the whole](https://example.com/a-long-", "Said before. See the whole"],
    ["- one\n- two\n1. three", "one\ntwo\nthree"],
  ])("of %j is %j", (summary, expected) => {
    expect(withoutMarks(summary)).toBe(expected);
  });

  test.each(["2 * 3 * 4 = 24", "snake_case_names and f(a)[0]", "C# and #5, issue # 5", "5 - 3", "an * alone, and ** too", "a_b_ c"])(
    "keeps %j", (summary) => {
      expect(withoutMarks(summary)).toBe(summary);
    });
});
