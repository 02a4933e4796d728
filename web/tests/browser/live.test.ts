/** Writes of others while one reads, and a server that goes away and comes back. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { baseUrl, launchBrowser, openPage, subscription, type Conduct } from "./browser.js";
import { author, signUp } from "./people.js";
import { projectionsDrained, startServer, type Server } from "../server.js";

let browsers: [Browser, Browser];

beforeAll(async () => {
  browsers = await Promise.all([launchBrowser(), launchBrowser()]);
});

afterAll(async () => {
  await Promise.all(browsers.map((browser) => browser.close()));
});

/** A page whose live connection is there. */
async function openLive(browser: Browser, path: string): Promise<{ page: Page; conduct: Conduct }> {
  const { watch, begun } = subscription(path === "/" ? "feed" : "commentAdded");
  const opened = await openPage(browser, path, { watch });
  await opened.page.locator(".post-card, .post").first().waitFor();
  await begun;
  return opened;
}

describe("two browsers", () => {
  test("the one that reads hears of what the other writes", async () => {
    const [reading, writing] = await Promise.all([openLive(browsers[0], "/"), openLive(browsers[1], "/")]);
    await signUp(writing.page);
    for (const title of ["Heard first", "Heard second"]) {
      await writing.page.getByRole("link", { name: "Write" }).click();
      await writing.page.getByLabel("Title").fill(title);
      await writing.page.getByLabel("Text").fill("Live.");
      await writing.page.getByRole("button", { name: "Publish" }).click();
      await writing.page.getByRole("heading", { level: 1, name: title }).waitFor();
    }
    const news = reading.page.getByRole("button", { name: "2 new posts" });
    await news.waitFor();
    expect(
      await reading.page
        .locator(".post-card h2")
        .filter({ hasText: /^Heard (first|second)$/ })
        .count(),
    ).toBe(0);
    await news.click();
    expect(await reading.page.locator(".post-card h2").first().innerText()).toBe("Heard second");

    await reading.page.locator(".post-card h2 a").first().click();
    await reading.page.getByRole("heading", { name: "No comments yet" }).waitFor();
    await writing.page.getByRole("button", { name: "Like" }).click();
    await reading.page.getByText("1 like", { exact: true }).waitFor();
    await writing.page.getByLabel("Your comment").fill("Are you still there?");
    await writing.page.getByRole("button", { name: "Comment", exact: true }).click();
    await reading.page.locator(".comment").filter({ hasText: "Are you still there?" }).waitFor();
    await reading.page.getByRole("heading", { name: "1 comment" }).waitFor();

    await writing.page.getByRole("button", { name: "Delete" }).first().click();
    await writing.page
      .getByRole("group", { name: /Delete this post/ })
      .getByRole("button", { name: "Delete" })
      .click();
    await reading.page.getByRole("heading", { name: "Post not found" }).waitFor();
    expect([...reading.conduct.errors, ...writing.conduct.errors]).toEqual([]);
    await Promise.all([reading.page.context().close(), writing.page.context().close()]);
  });
});

test("new posts are announced within the window, also below the top", async () => {
  const { page, conduct } = await openLive(browsers[0], "/");
  const writer = await author();
  await writer.post("Announced");
  const news = page.getByRole("button", { name: /new post/ });
  await news.waitFor();
  const title = page.locator(".post-card").first();
  const [pill, card] = [await news.boundingBox(), await title.boundingBox()];
  expect((pill?.y ?? 0) + (pill?.height ?? 0)).toBeLessThanOrEqual((card?.y ?? 0) + 1);
  await page.evaluate(() => {
    scrollTo(0, 1_500);
  });
  await page.waitForFunction(() => scrollY > 1_000);
  expect((await news.boundingBox())?.y).toBeGreaterThanOrEqual(0);
  expect(conduct.errors).toEqual([]);
  await page.context().close();
});

test("a page that is opened offline is shown when the connection is back", async () => {
  const postId = await (await author()).post("Opened offline");
  const { page } = await openLive(browsers[0], "/");
  for (const [path, name] of [
    [`/posts/${postId}`, "Opened offline"],
    ["/compare", /./],
  ] as const) {
    await page.context().setOffline(true);
    await page.getByText("No connection.").waitFor();
    await page.evaluate((to) => {
      history.pushState(null, "", to);
    }, path);
    await page.locator(".notice-failure").first().waitFor();
    await page.context().setOffline(false);
    await page.getByText("No connection.").waitFor({ state: "detached" });
    await page.getByRole("heading", { level: 1, name }).waitFor();
    await page.locator(".notice-failure").waitFor({ state: "detached" });
  }
  await page.context().close();
});

test("a page catches up with what was written while the connection was gone", async () => {
  const writer = await author();
  await writer.post("Before the break");
  const { page } = await openLive(browsers[0], "/");
  await page.getByRole("link", { name: writer.username }).first().click();
  await page.locator(".profile").waitFor();
  await page.context().setOffline(true);
  await page.getByText("No connection.").waitFor();
  await writer.post("During the break");
  await projectionsDrained(baseUrl);
  await page.context().setOffline(false);
  await page.locator(".post-card h2").filter({ hasText: "During the break" }).waitFor();
  await page.context().close();
});

const binary = process.env.ONEHOP_BIN ?? "";

describe.skipIf(binary === "")("a server that is started again", () => {
  let data: string;
  let server: Server;

  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), "onehop-browser-"));
    server = await startServer({ binary, data, arguments: ["--demo", "--demo-users", "20"] });
    await projectionsDrained(server.url);
  });

  afterAll(async () => {
    await server.kill();
    await rm(data, { recursive: true, force: true });
  });

  test("is missed, found again, and asked for what was written meanwhile", async () => {
    const { page } = await openPage(browsers[0], "/", { url: server.url });
    await page.locator(".post-card").first().waitFor();
    await signUp(page);
    await page.getByRole("link", { name: "Write" }).click();
    await page.getByLabel("Title").fill("Sent twice, written once");
    await page.getByLabel("Text").fill("The server was away.");

    await server.stop();
    await page.getByText("No connection.").waitFor();
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByText("We could not reach the server. Your text is still here; try again.").waitFor();

    server = await startServer({ binary, data, port: Number(new URL(server.url).port) });
    await (await author(server.url)).post("Written while one was away");
    await page.getByText("No connection.").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByRole("heading", { level: 1, name: "Sent twice, written once" }).waitFor();
    await page.getByRole("link", { name: "Blog" }).click();
    const titles = page.locator(".post-card h2");
    await titles.filter({ hasText: "Written while one was away" }).waitFor();
    expect(await titles.filter({ hasText: "Sent twice, written once" }).count()).toBe(1);
    await page.context().close();
  });
});
