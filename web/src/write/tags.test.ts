import { describe, expect, test } from "vitest";
import { lineOf, tagsOf } from "./tags.js";

describe("a line of tags", () => {
  test("has words between commas and spaces", () => {
    expect(tagsOf("rust, azure  #cosmos-db;c++,,c#")).toEqual(["rust", "azure", "cosmos-db", "c++", "c#"]);
    expect(tagsOf("  ")).toEqual([]);
  });

  test("is read as it is shown", () => {
    const tags = ["rust", "c++", "node.js"];
    expect(tagsOf(lineOf(tags))).toEqual(tags);
  });
});
