import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { ARTICLE_CHARGES, ESTIMATED_CHARGES, READS, WRITES } from "./article.js";

const MODELS = ["V1", "V2", "V3"];

/** The rows of a chapter's table in the report: request, data model, and figures by the table's head. */
function rows(title: string): Record<string, string>[] {
  const report = readFileSync(resolve(import.meta.dirname, "../../../docs/comparison.md"), "utf8");
  const [, chapter = ""] = report.split(`\n## ${title}\n`);
  const [, table = ""] = /\n(\| request \|[^]*?)\n\n/.exec(chapter) ?? [];
  const [head = [], , ...lines] = table.split("\n").map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  return lines.map((cells) => Object.fromEntries(head.map((name, column) => [name, cells[column] ?? ""])));
}

/** The charges of each request under each data model in a column, or in several together. */
function charges(title: string, ...columns: string[]): Record<string, number[]> {
  const listed = rows(title);
  const figure = (request: string, model: string): number => {
    const row = listed.find((row) => row.request === request && row.model === model);
    return columns.reduce((sum, column) => sum + Number(row?.[column] ?? Number.NaN), 0);
  };
  return Object.fromEntries(
    [...READS, ...WRITES].map((request) => [request, MODELS.map((model) => figure(request, model))]),
  );
}

describe("the figures of the traffic mix", () => {
  test("are those of the report, with what its projections cost", () => {
    expect(ESTIMATED_CHARGES).toEqual(charges("The present service", "RU", "projections"));
  });

  test("are the article's where these are chosen", () => {
    expect(ARTICLE_CHARGES).toEqual(charges("The article's table", "article"));
  });
});
