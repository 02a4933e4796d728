/** Editor and comments: preview, toolbar, Ctrl+Enter, links, and continuing after signing in again. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { launchBrowser, leave, openPage, type Conduct, type OpenOptions } from "./browser.js";
import { author, endSessionElsewhere, PASSWORD, signUp } from "./people.js";

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
  expect(conduct.foreignRequests).toEqual([]);
  await leave(page);
});

async function open(path: string, options?: OpenOptions): Promise<void> {
  ({ page, conduct } = await openPage(browser, path, options));
}

async function write(title: string, text: string): Promise<void> {
  await page.getByRole("link", { name: "Write" }).click();
  await page.getByLabel("Title").fill(title);
  await page.getByLabel("Text").fill(text);
}

function title(name: string) {
  return page.getByRole("heading", { level: 1, name });
}

describe("the editor", () => {
  test("previews the text as the post shows it, and keeps it", async () => {
    await open("/");
    await signUp(page);
    await write("Previewed", "Some **bold** words\non two lines.");
    await page.getByRole("button", { name: "Preview" }).click();
    const preview = page.getByRole("region", { name: "Preview" });
    await preview.locator("strong", { hasText: "bold" }).waitFor();
    expect(await preview.locator("br").count()).toBe(1);
    expect(await page.getByLabel("Text").isVisible()).toBe(false);
    await page.getByRole("button", { name: "Edit" }).click();
    expect(await page.getByLabel("Text").inputValue()).toBe("Some **bold** words\non two lines.");
  });

  test("sets marks around the selection, and takes them away", async () => {
    await open("/");
    await signUp(page);
    await write("Marked", "one two");
    const text = page.getByLabel("Text");
    await text.evaluate((area: HTMLTextAreaElement) => {
      area.setSelectionRange(4, 7);
    });
    await page.getByRole("button", { name: "Bold" }).click();
    expect(await text.inputValue()).toBe("one **two**");
    expect(await text.evaluate((area) => document.activeElement === area)).toBe(true);
    await page.getByRole("button", { name: "Bold" }).click();
    expect(await text.inputValue()).toBe("one two");
    await page.getByRole("button", { name: "List" }).click();
    expect(await text.inputValue()).toBe("- one two");
  });

  test("publishes by Ctrl+Enter", async () => {
    await open("/");
    await signUp(page);
    await write("Published by keyboard", "A text.");
    await page.getByLabel("Text").press("Control+Enter");
    await title("Published by keyboard").waitFor();
  });

  test("goes on publishing after signing in again", async () => {
    await open("/", { expectedStatuses: [401] });
    await signUp(page);
    await write("Published in the end", "A text.");
    await endSessionElsewhere(page);
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByRole("dialog", { name: "Sign in again" }).waitFor();
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
    await title("Published in the end").waitFor();
    await page.getByRole("link", { name: "Blog" }).click();
    await page.locator(".post-card").first().waitFor();
    expect(await page.locator(".post-card h2", { hasText: "Published in the end" }).count()).toBe(1);
  });

  test("does not publish after the dialog was closed", async () => {
    await open("/", { expectedStatuses: [401] });
    await signUp(page);
    await write("Not published", "A text.");
    await endSessionElsewhere(page);
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByRole("dialog", { name: "Sign in again" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Sign in again" }).click();
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await page.getByLabel("Title").inputValue()).toBe("Not published");
    await page.getByRole("button", { name: "Publish" }).waitFor();
  });
});

describe("a comment", () => {
  test("is sent by Ctrl+Enter", async () => {
    const postId = await (await author()).post("To be talked about by keyboard");
    await open(`/posts/${postId}`);
    await signUp(page);
    await page.getByLabel("Your comment").fill("By keyboard.");
    await page.getByLabel("Your comment").press("Control+Enter");
    await page.locator(".comment", { hasText: "By keyboard." }).waitFor();
  });

  test("is edited by its author, and the other window hears of it", async () => {
    const postId = await (await author()).post("To be talked about twice");
    await open(`/posts/${postId}`);
    await signUp(page);
    await page.getByLabel("Your comment").fill("The first text.");
    await page.getByLabel("Your comment").press("Control+Enter");
    const comment = page.locator(".comment");
    await comment.getByText("The first text.").waitFor();
    const reader = await openPage(browser, `/posts/${postId}`);
    await reader.page.locator(".comment", { hasText: "The first text." }).waitFor();
    expect(await reader.page.getByRole("button", { name: "Edit" }).count()).toBe(0);
    await comment.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Edit your comment").fill("The second **text**.");
    await page.reload();
    await comment.getByRole("button", { name: "Edit" }).click();
    expect(await page.getByLabel("Edit your comment").inputValue()).toBe("The second **text**.");
    await page.getByLabel("Edit your comment").press("Control+Enter");
    for (const shown of [comment, reader.page.locator(".comment")]) {
      await shown.locator("strong", { hasText: "text" }).waitFor();
      await shown.locator(".comment-edited").waitFor();
    }
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe("Edit");
    expect(reader.conduct.errors).toEqual([]);
    await leave(reader.page);
  });

  test("that was edited elsewhere is not overwritten unseen", async () => {
    const postId = await (await author()).post("To be talked about in two windows");
    await open(`/posts/${postId}`);
    await signUp(page);
    await page.getByLabel("Your comment").fill("As sent.");
    await page.getByLabel("Your comment").press("Control+Enter");
    await page.locator(".comment", { hasText: "As sent." }).getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Edit your comment").fill("From the first window.");
    const second = await page.context().newPage();
    await second.goto(page.url());
    // Drafts are shared by the windows, so the second one starts from the text of the first.
    await second.locator(".comment").getByRole("button", { name: "Edit" }).click();
    await second.getByLabel("Edit your comment").fill("From the second window.");
    await second.getByRole("button", { name: "Save" }).click();
    await second.locator(".comment", { hasText: "From the second window." }).waitFor();
    await page.getByRole("alert").getByText("From the second window.").waitFor();
    expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Keep my text" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await second.locator(".comment", { hasText: "From the first window." }).waitFor();
  });

  test("has a link of its own, which finds it beyond the first page", async () => {
    const writer = await author();
    const postId = await writer.post("With many comments");
    for (let comment = 1; comment <= 25; comment += 1) {
      await writer.comment(postId, `Comment ${comment}.`);
    }
    await open(`/posts/${postId}`);
    await page.getByRole("button", { name: "Show more comments" }).click();
    const last = () => page.locator(".comment", { hasText: "Comment 25." });
    await last().getByRole("link", { name: "Link to the comment of" }).click();
    await expect.poll(() => last().getAttribute("class")).toContain("is-linked");
    const link = page.url();
    await leave(page);
    await open(new URL(link).pathname + new URL(link).hash);
    await last().waitFor();
    await expect.poll(() => last().getAttribute("class")).toContain("is-linked");
    expect(await last().evaluate((element) => document.activeElement === element)).toBe(true);
  });
});
