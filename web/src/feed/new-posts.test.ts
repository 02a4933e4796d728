import { describe, expect, test } from "vitest";
import type { PostCardFragment } from "../post/PostCard.generated.js";
import { nothingNew, noticed, revealed, withoutPost } from "./new-posts.js";

function post(id: string, minute: number, likeCount = 0): PostCardFragment {
  return {
    id,
    title: id,
    tags: [],
    summary: "",
    creationDate: `2026-01-01T00:${String(minute).padStart(2, "0")}:00.000Z`,
    commentCount: 0,
    likeCount,
    author: { id: "u", username: "ada" },
  };
}

const listed = [post("b", 2), post("a", 1)];

describe("what is new in the feed", () => {
  test("a post that is newer than the list waits, the newest first", () => {
    const news = noticed(noticed(nothingNew, post("c", 3), listed), post("d", 4), listed);
    expect(news.waiting.map(({ id }) => id)).toEqual(["d", "c"]);
    expect(news.shown).toEqual([]);
  });

  test("a post that is listed, or older than the list, is nothing new", () => {
    expect(noticed(nothingNew, post("a", 1, 5), listed)).toBe(nothingNew);
    expect(noticed(nothingNew, post("old", 0), listed)).toBe(nothingNew);
  });

  test("a post that waits changes where it waits, and is announced once", () => {
    const news = noticed(noticed(nothingNew, post("c", 3), listed), post("c", 3, 7), listed);
    expect(news.waiting.map(({ likeCount }) => likeCount)).toEqual([7]);
  });

  test("what was asked for is shown above what was shown before", () => {
    const first = revealed(noticed(nothingNew, post("c", 3), listed));
    const second = revealed(noticed(first, post("d", 4), listed));
    expect(second.waiting).toEqual([]);
    expect(second.shown.map(({ id }) => id)).toEqual(["d", "c"]);
  });

  test("a post that left the feed is neither announced nor shown", () => {
    const shown = revealed(noticed(nothingNew, post("c", 3), listed));
    const news = noticed(shown, post("d", 4), listed);
    expect(withoutPost(withoutPost(news, "c"), "d")).toEqual(nothingNew);
  });

  test("in an empty feed every post is new", () => {
    expect(noticed(nothingNew, post("a", 1), []).waiting).toHaveLength(1);
  });
});
