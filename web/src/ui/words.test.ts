import { describe, expect, test } from "vitest";
import { counted } from "./count.js";
import { lengthOf, limitInWords } from "./limits.js";
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

  test("is shown beside its limit, with the excess", () => {
    expect(limitInWords("four", 200)).toBe("4 of 200");
    expect(limitInWords("x".repeat(203), 200)).toBe("3 too many");
  });
});

test("one is counted as one", () => {
  expect([counted(0, "like"), counted(1, "like"), counted(1024, "copy", "copies")]).toEqual([
    "0 likes",
    "1 like",
    "1,024 copies",
  ]);
});
