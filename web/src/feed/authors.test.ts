import { expect, test } from "vitest";
import { authorsOf } from "./authors.js";

function post(id: string, creationDate: string): { creationDate: string; author: { id: string; username: string } } {
  return { creationDate, author: { id, username: id } };
}

test("authors come with their posts and the latest date, the most active first", () => {
  const posts = [post("ada", "2026-03"), post("bo", "2026-02"), post("cy", "2026-02"), post("bo", "2026-01")];
  expect(authorsOf(posts)).toEqual([
    { id: "bo", username: "bo", posts: 2, lastDate: "2026-02" },
    { id: "ada", username: "ada", posts: 1, lastDate: "2026-03" },
    { id: "cy", username: "cy", posts: 1, lastDate: "2026-02" },
  ]);
  expect(authorsOf([])).toEqual([]);
});
