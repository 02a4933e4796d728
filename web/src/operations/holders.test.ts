import { describe, expect, test } from "vitest";
import { holderInWords, holdingInWords, shortRange } from "./holders.js";

const here = { owner: 2, heldHere: true };
const elsewhere = { owner: 1, heldHere: false };
const free = { owner: null, heldHere: false };

test.each([
  [here, "this process"],
  [elsewhere, "process 1"],
  [free, "no owner"],
])("a lease %j is held by %j", (lease, expected) => {
  expect(holderInWords(lease)).toBe(expected);
});

describe("all leases together", () => {
  test.each([
    [[here, here], "Every lease is held, by this process."],
    [[elsewhere, elsewhere], "Every lease is held, by another process."],
    [[here, elsewhere, free], "Some leases are free, the others are held, by 2 processes."],
    [[free], "No process follows the change feed."],
    [[], "No process follows the change feed."],
  ])("%j: %s", (leases, expected) => {
    expect(holdingInWords(leases)).toBe(expected);
  });
});

test("a long name of a range loses its middle", () => {
  expect(shortRange("physical:0")).toBe("physical:0");
  expect(shortRange("0123456789ab-middle-cdefghijklm")).toBe("0123456789ab…cdefghijklm");
});
