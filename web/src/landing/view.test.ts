import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { FeedPage, FeedPost } from "./feed.js";
import { showFeed } from "./view.js";

/** The page's own body, so that markup and view cannot drift apart. */
const html = readFileSync(resolve(import.meta.dirname, "../../index.html"), "utf8");
const body = html.slice(html.indexOf("<body>"));

const retry = vi.fn();

/** A fragment's data is masked from the one who passes it on; a test makes it up. */
function post(id: string, fields: Record<string, unknown> = {}): FeedPost {
  return {
    id,
    title: `Title of ${id}`,
    summary: "A summary…",
    creationDate: "2025-03-04T05:06:07.089Z",
    commentCount: 1,
    likeCount: 1200,
    author: { id: "user", username: "ada" },
    ...fields,
  } as unknown as FeedPost;
}

function answered(model: "V1" | "V2" | "V3", feed: Partial<FeedPage>): void {
  showFeed(document, { kind: "answered", model, page: { posts: [], requestCharge: 1, ...feed } }, retry);
}

function text(selector: string): string {
  return document.querySelector(selector)?.textContent.replace(/\s+/g, " ").trim() ?? "";
}

beforeEach(() => {
  const parsed = new DOMParser().parseFromString(body, "text/html");
  document.body.replaceChildren(...parsed.body.childNodes);
  retry.mockReset();
});

describe("showFeed", () => {
  test("an answer shows its posts, newest first as they came", () => {
    answered("V3", { posts: [post("b"), post("a")] });
    expect([...document.querySelectorAll("article h3")].map((title) => title.textContent)).toEqual([
      "Title of b",
      "Title of a",
    ]);
    expect(text("article .author")).toBe("ada");
    expect(document.querySelector("article time")?.getAttribute("datetime")).toBe("2025-03-04T05:06:07.089Z");
    expect(text("article .counts")).toBe("1 comment1,200 likes");
  });

  test("text from the server stays text", () => {
    const hostile = `<img src=x onerror="alert(1)">`;
    answered("V3", { posts: [post("a", { title: hostile, summary: hostile, author: { id: "u", username: hostile } })] });
    expect(text("article h3")).toBe(hostile);
    expect(text("article .summary")).toBe(hostile);
    expect(document.querySelector("article img")).toBeNull();
  });

  test("a date that does not parse is shown as it came", () => {
    answered("V3", { posts: [post("a", { creationDate: "yesterday" })] });
    expect(text("article time")).toBe("yesterday");
  });

  test("each data model keeps its charge beside it, drawn to the scale of the highest", () => {
    answered("V3", { requestCharge: 25 });
    answered("V1", { requestCharge: 2000 });
    expect(text('[data-model="V3"]')).toBe("25.00 RU");
    expect(text('[data-model="V1"]')).toBe("2,000.00 RU");
    expect(text('[data-model="V2"]')).toBe("not asked yet");
    expect(share("V1")).toBe(1);
    expect(share("V3")).toBe(25 / 2000);
    expect(share("V2")).toBe(0);
  });

  test("an unknown charge is said to be unknown", () => {
    answered("V2", { posts: [post("a")], requestCharge: null });
    expect(text("#status")).toBe("V2 answered with 1 post for an unknown charge.");
    expect(text('[data-model="V2"]')).toBe("unknown");
  });

  test("an empty feed says how to write the first post", () => {
    answered("V3", { posts: [] });
    expect(document.querySelectorAll("article")).toHaveLength(0);
    expect(text("#feed-body")).toContain("No post has been written yet.");
    expect(document.querySelector("#feed-body a")?.getAttribute("href")).toBe("/graphiql");
  });

  test("a failure is an alert with its reason, and can be asked again", () => {
    showFeed(document, { kind: "failed", model: "V3", message: "The store does not answer." }, retry);
    expect(text('[role="alert"]')).toContain("The store does not answer.");
    expect(text("#status")).toBe("V3 gave no answer.");
    document.querySelector<HTMLButtonElement>('[role="alert"] button')?.click();
    expect(retry).toHaveBeenCalledOnce();
  });

  test("while a question is open the last posts stay and the feed is busy", () => {
    answered("V3", { posts: [post("a")] });
    showFeed(document, { kind: "asking", model: "V1" }, retry);
    expect(document.querySelector("#feed")?.getAttribute("aria-busy")).toBe("true");
    expect(document.querySelectorAll("article")).toHaveLength(1);
    answered("V1", { posts: [post("a")] });
    expect(document.querySelector("#feed")?.getAttribute("aria-busy")).toBe("false");
  });
});

function share(model: string): number {
  const choice = document.querySelector(`[data-model="${model}"]`)?.closest<HTMLElement>(".model");
  return Number(choice?.style.getPropertyValue("--share"));
}
