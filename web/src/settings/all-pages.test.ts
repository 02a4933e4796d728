import { expect, test } from "vitest";
import { allPages, type ListPage } from "./all-pages.js";

function page(nodes: number[], endCursor: string | null, hasNextPage = endCursor !== null): ListPage<number> {
  return { nodes, pageInfo: { hasNextPage, endCursor } };
}

test("all pages of a list are read, each after the one before", async () => {
  const pages: Record<string, ListPage<number>> = {
    start: page([1, 2], "a"),
    a: page([3], "b"),
    b: page([4], "c", false),
  };
  const asked: (string | null)[] = [];
  const items = await allPages(async (after) => {
    asked.push(after);
    return Promise.resolve(pages[after ?? "start"]);
  });
  expect(items).toEqual([1, 2, 3, 4]);
  expect(asked).toEqual([null, "a", "b"]);
});

test("a missing page is an error, and no shorter list", async () => {
  await expect(allPages(async (after) => Promise.resolve(after === null ? page([1], "a") : null))).rejects.toThrow(
    "missing",
  );
});
