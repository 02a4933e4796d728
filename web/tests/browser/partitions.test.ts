/** The hot logical partitions, on a server that was just started. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { projectionsDrained, startServer, type Server } from "../server.js";
import { launchBrowser, leave, openPage } from "./browser.js";
import { author } from "./people.js";

const binary = process.env.ONEHOP_BIN ?? "";

describe.skipIf(binary === "")("logical partitions", () => {
  let data: string;
  let server: Server;
  let browser: Browser;
  let username: string;
  let postId: string;

  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), "onehop-browser-"));
    const writing = await startServer({ binary, data });
    const writer = await author(writing.url);
    username = writer.username;
    postId = await writer.post("Read by many");
    await projectionsDrained(writing.url);
    await writing.stop();
    server = await startServer({ binary, data });
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser.close();
    await server.stop();
    await rm(data, { recursive: true, force: true });
  });

  test("a post that is read appears among the hottest, and leads to its page", async () => {
    const { page, conduct } = await openPage(browser, "/operations", { url: server.url });
    const posts = page.getByRole("article", { name: "posts", exact: true });
    await posts.getByRole("heading").waitFor();
    expect(await posts.getByRole("link").count()).toBe(0);

    await page.goto(`${server.url}/posts/${postId}`);
    await page.getByRole("heading", { name: "Read by many" }).waitFor();
    await page.getByText("For engineers").click();
    await page.getByRole("link", { name: "Operations" }).click();
    const link = posts.getByRole("link", { name: /^post / });
    await link.waitFor();
    expect(await posts.innerText()).toMatch(/The hottest logical partition|A hot spot: one logical partition/);
    await link.click();
    await page.getByRole("heading", { name: "Read by many" }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/posts/${postId}`);
    expect(conduct.errors).toEqual([]);
    await leave(page);
  });

  test("no text of a user is shown", async () => {
    const { page } = await openPage(browser, "/operations", { url: server.url });
    const accounts = page.getByRole("article", { name: "accounts" });
    await accounts.getByRole("heading").waitFor();
    expect(await accounts.getByRole("link").count()).toBe(0);
    expect(await page.locator("main").innerText()).not.toContain(username);
    await leave(page);
  });
});
