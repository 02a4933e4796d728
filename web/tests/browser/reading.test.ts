/** Reading the blog without an account: feed, post, profile, and missing pages. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { baseUrl, launchBrowser, leave, openPage, type Conduct } from "./browser.js";
import { showCosts } from "./cost-switch.js";
import { author } from "./people.js";

const FEED_POSTS_MAX = 100;
/** The posts that come by scrolling alone. */
const SCROLLED_POSTS = 60;

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

async function open(path: string): Promise<void> {
  ({ page, conduct } = await openPage(browser, path));
}

describe("a reader", () => {
  test("goes on from the feed to a post and its author, and each page says what it cost", async () => {
    await open("/");
    await page.getByRole("heading", { level: 1, name: "Latest posts" }).waitFor();
    await page.locator(".post-card").first().waitFor();
    expect(await page.title()).toBe("Onehop");
    await showCosts(page);
    expect(await charge()).toBeGreaterThan(0);

    const title = await page.locator(".post-card h2").first().innerText();
    await page.locator(".post-card h2 a").first().click();
    await page.getByRole("heading", { level: 1, name: title }).waitFor();
    await page.waitForFunction((expected) => document.title === `${expected} · Onehop`, title);
    expect(await charge()).toBeGreaterThan(0);
    await page.getByText("for this page").click();
    await page.locator(".cost-operations td").filter({ hasText: "posts" }).first().waitFor();

    const author = await page.locator(".post-meta a").innerText();
    await page.locator(".post-meta a").click();
    await page.getByRole("heading", { level: 1, name: author }).waitFor();
    await page.locator(".post-card").first().waitFor();
  });

  test("scrolls through the feed and to older posts, and finds the place again when coming back", async () => {
    await open("/");
    const cards = page.locator(".post-card");
    await cards.first().waitFor();
    const more = page.getByRole("button", { name: "Show older posts" });
    for (let shown = await cards.count(); shown < FEED_POSTS_MAX; shown = await cards.count()) {
      await page.evaluate(() => {
        scrollTo(0, document.body.scrollHeight);
      });
      if (shown >= SCROLLED_POSTS) {
        // The end of the page is within reach.
        await page.getByRole("contentinfo").getByRole("link", { name: "Authors" }).waitFor();
        expect(await cards.count()).toBe(shown);
        await more.click();
      }
      await page.waitForFunction((before) => document.querySelectorAll(".post-card").length > before, shown);
    }
    expect(await cards.count()).toBe(FEED_POSTS_MAX);
    await more.click();
    await cards.nth(FEED_POSTS_MAX + 5).waitFor();
    const links = await cards.locator("h2 a").evaluateAll((found) => found.map((link) => link.getAttribute("href")));
    expect(new Set(links).size).toBe(links.length);
    const titles = await cards.locator("h2").allInnerTexts();
    await cards.nth(70).locator("h2 a").click();
    await page.locator(".post").waitFor();
    await page.goBack();
    await cards.nth(links.length - 1).waitFor();
    expect(await cards.locator("h2").allInnerTexts()).toEqual(titles);
    await page.waitForFunction(() => scrollY > innerHeight);
  });

  test("searches titles, and finds the search again after a reload and by the back button", async () => {
    const writer = await author();
    await writer.post("Quokka watching for beginners");
    await open("/");
    await page.getByRole("link", { name: "Search" }).click();
    await page.getByLabel("Words in the title").fill("QUOK begin");
    await page.getByRole("button", { name: "Search" }).click();
    const found = page.getByRole("link", { name: "Quokka watching for beginners" });
    await found.waitFor();
    expect(new URL(page.url()).search).toBe("?q=QUOK+begin");
    await page.reload();
    await found.waitFor();
    await page.getByLabel("Words in the title").fill("nothingofthekind");
    await page.keyboard.press("Enter");
    await page.getByText("No posts with these words").waitFor();
    await page.goBack();
    await found.waitFor();
    expect(await page.getByLabel("Words in the title").inputValue()).toBe("QUOK begin");
    await found.click();
    await page.getByRole("heading", { level: 1, name: "Quokka watching for beginners" }).waitFor();
  });

  test("finds the authors of the latest posts", async () => {
    await open("/");
    // By the keyboard: the feed grows above the footer, and a pointer would miss the link.
    await page.getByRole("link", { name: "Authors", exact: true }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "Authors" }).waitFor();
    const first = page.locator(".authors a").first();
    const name = await first.innerText();
    await first.click();
    await page
      .locator(".profile h1")
      .filter({ hasText: name.split("\n").at(-1) ?? name })
      .waitFor();
  });

  test("sees what is not there", async () => {
    for (const [path, title] of [
      ["/nowhere", "Page not found"],
      ["/posts/nothing", "Post not found"],
      ["/users/nothing", "User not found"],
      ["/shop/category/nothing", "Category not found"],
      ["/shop/tag/nothing", "Tag not found"],
      ["/shop/product/nothing", "Product not found"],
    ] as const) {
      expect((await fetch(baseUrl + path)).status, path).toBe(404);
      ({ page, conduct } = await openPage(browser, "/"));
      await page.evaluate((to) => {
        history.pushState(null, "", to);
      }, path);
      await page.getByRole("heading", { name: title }).waitFor();
      await page.waitForFunction(() => document.title.endsWith(" not found · Onehop"));
      if (path !== "/shop/product/nothing") {
        await leave(page);
      }
    }
  });
});

test("a title with controls of direction reverses nothing beside it", async () => {
  const writer = await author();
  const postId = await writer.post("Pay \u202Elave\u2066", "Text.");
  await open(`/posts/${postId}`);
  await page.getByRole("heading", { level: 1, name: /^Pay/ }).waitFor();
  await page.waitForFunction(() => document.title === "Pay lave · Onehop");
  const html = await (await fetch(`${baseUrl}/posts/${postId}`)).text();
  expect(html).toContain("<title>Pay lave · Onehop</title>");
  await page.getByRole("link", { name: writer.username }).click();
  await page.locator(".post-card h2[dir=auto]").waitFor();
});

test("a printed post is the post, its comments, and nothing to click", async () => {
  const writer = await author();
  const postId = await writer.post("On paper", "With a [link](https://example.com/).");
  await writer.comment(postId, "Printed, too.");
  await open(`/posts/${postId}`);
  await page.locator(".comment").waitFor();
  await page.emulateMedia({ media: "print" });
  expect(await page.locator("button:visible, textarea:visible, nav:visible, .cost:visible").count()).toBe(0);
  expect(await page.locator("h1:visible, .post .markdown:visible, .comment:visible").count()).toBe(3);
  const after = await page.locator(".post .markdown a").evaluate((link) => getComputedStyle(link, "::after").content);
  expect(after).toContain("https://example.com/");
});

describe("what previews a link", () => {
  test("finds a description without the marks of Markdown", async () => {
    const postId = await (await author()).post("Marked", "# A *heading*\n\nSee [this](https://example.com).");
    ({ page, conduct } = await openPage(browser, `/posts/${postId}`));
    const html = await (await fetch(`${baseUrl}/posts/${postId}`)).text();
    expect(html).toContain('<meta property="og:description" content="A heading See this." />');
  });

  test("finds title and description of a post", async () => {
    await open("/");
    const path = await page.locator(".post-card h2 a").first().getAttribute("href");
    const title = await page.locator(".post-card h2 a").first().innerText();
    const html = await (await fetch(baseUrl + (path ?? ""))).text();
    expect(html).toContain(`<title>${title.replaceAll("'", "&#39;")} · Onehop</title>`);
    expect(html).toContain('property="og:description"');
  });
});

/** The charge on the page, in request units. */
async function charge(): Promise<number> {
  const text = await page.locator(".cost-sum").first().innerText();
  return Number(text.replace(/ RU$/, "").replaceAll(",", ""));
}
