import { expect, test } from "vitest";
import { chosenOfDay } from "./picks-of-day.js";

const letters = Array.from("abcdefghij");

test("the picks of a day are different items, and others the next day", () => {
  const today = chosenOfDay(letters, 4, new Date("2026-03-01T10:00:00Z"));
  expect(new Set(today).size).toBe(4);
  expect(chosenOfDay(letters, 4, new Date("2026-03-01T23:00:00Z"))).toEqual(today);
  expect(chosenOfDay(letters, 4, new Date("2026-03-02T10:00:00Z"))).not.toEqual(today);
});

// The server has the same numbers (`src/api/page_contents/shop.rs`).
test("the picks of a day are those of the server", () => {
  expect(chosenOfDay(letters, 4, new Date(0)).join("")).toBe("aceg");
  expect(chosenOfDay(letters, 4, new Date(3 * 86_400_000 + 5)).join("")).toBe("dfhj");
  expect(chosenOfDay(letters, 4, new Date(9 * 86_400_000)).join("")).toBe("jbdf");
});

test("a short list is shown whole", () => {
  expect(chosenOfDay(["a", "b"], 4, new Date(0))).toEqual(["a", "b"]);
});
