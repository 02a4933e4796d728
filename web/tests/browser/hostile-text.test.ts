/** Texts that were written to take the page of a post away from its readers, also while they read. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { launchBrowser, leave, openPage, type Conduct, subscription } from "./browser.js";
import { author, signUp } from "./people.js";

const COMMENTS: [name: string, content: string][] = [
  ["10,000 nested quotes", ">".repeat(10_000)],
  ["a table of 2.7 million cells", `${"a|".repeat(1_700)}\n${"-|".repeat(1_700)}\n${"x\n".repeat(1_599)}`],
  ["more marks than a page can show", "a*".repeat(5_000)],
];
const POSTS: [name: string, content: string][] = [
  ["an address without an end", `${"a".repeat(99_998)}@`],
  ["marks within words", "_a".repeat(50_000)],
];

let browser: Browser;
let page: Page;
let conduct: Conduct;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser.close();
});

afterEach(async () => {
  expect(conduct.errors).toEqual([]);
  await leave(page);
});

describe("a poisoned comment", () => {
  test.each(COMMENTS)("that arrives live leaves the page readable: %s", async (_name, content) => {
    const writer = await author();
    const postId = await writer.post("Still readable", "The **text** of the post.");
    const { watch, begun } = subscription("commentAdded");
    ({ page, conduct } = await openPage(browser, `/posts/${postId}`, { watch }));
    await page.getByRole("heading", { name: "No comments yet" }).waitFor();
    await begun;
    await writer.comment(postId, content);
    await page.locator(".comment").waitFor();
    await writer.comment(postId, "A comment *after* it.");
    await page.locator(".comment em").filter({ hasText: "after" }).waitFor();
    expect(await page.locator(".post .markdown strong").innerText()).toBe("text");
    expect(await page.locator("*").count()).toBeLessThan(20_000);
  });

  test("is deleted by the author of the post", async () => {
    ({ page, conduct } = await openPage(browser, "/"));
    await page.locator(".post-card").first().waitFor();
    await signUp(page);
    await page.getByRole("link", { name: "Write" }).click();
    await page.getByLabel("Title").fill("Moderated");
    await page.getByLabel("Text").fill("By its author.");
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByRole("heading", { level: 1, name: "Moderated" }).waitFor();
    const writer = await author();
    await writer.comment(new URL(page.url()).pathname.split("/").at(-1) ?? "", ">".repeat(10_000));
    const comment = page.locator(".comment");
    await comment.getByRole("button", { name: "Delete" }).click();
    await comment.getByRole("group").getByRole("button", { name: "Delete" }).click();
    await comment.waitFor({ state: "detached" });
    await page.getByRole("heading", { name: "No comments yet" }).waitFor();
  });
});

test.each(POSTS)("a post is shown although it is written to take long: %s", async (_name, content) => {
  const postId = await (await author()).post("Shown all the same", content);
  ({ page, conduct } = await openPage(browser, `/posts/${postId}`));
  await page.getByRole("heading", { name: "Shown all the same" }).waitFor();
  expect((await page.locator(".post .markdown").textContent())?.length).toBeGreaterThanOrEqual(content.length / 2);
});
