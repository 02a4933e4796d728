/** Cumulative layout shift: nothing moves while a page loads over a slow network. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { baseUrl, launchBrowser } from "./browser.js";
import { author } from "./people.js";
import { categories, type Category } from "./shop.js";

/** A slow network: round trips of 150 ms, and 200 kB a second. */
const SLOW = { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 100_000 };

let browser: Browser;
let postId: string;
let category: Category | undefined;

beforeAll(async () => {
  browser = await launchBrowser();
  [category] = await categories();
  postId = await (await author()).post("Standing still");
});

afterAll(async () => {
  await browser.close();
});

const pages: [name: string, path: () => string, ready: string][] = [
  ["the feed", () => "/", ".post-card"],
  ["a post", () => `/posts/${postId}`, ".post"],
  ["a search", () => "/search?q=still", ".post-card"],
  ["the shop", () => "/shop", ".quick-add"],
  ["a category", () => `/shop/category/${category?.id ?? ""}`, ".quick-add"],
  ["a product", () => `/shop/product/${category?.products[0]?.id ?? ""}`, ".related .quick-add"],
];

const looks = pages.flatMap(([name, path, ready]) => [1280, 360].map((width) => ({ name, path, ready, width })));

test.each(looks)("$name stands still on a screen of $width pixels", async ({ path, ready, width }) => {
  const context = await browser.newContext({ viewport: { width, height: 900 } });
  const page = await context.newPage();
  await (await context.newCDPSession(page)).send("Network.emulateNetworkConditions", SLOW);
  await page.addInitScript(() => {
    const shifts: number[] = [];
    Object.assign(globalThis, { shifts });
    new PerformanceObserver((list) => {
      shifts.push(...list.getEntries().map((entry) => (entry as PerformanceEntry & { value: number }).value));
    }).observe({ type: "layout-shift", buffered: true });
  });
  await page.goto(new URL(path(), baseUrl).href);
  await page.locator(ready).first().waitFor();
  await page.waitForLoadState("networkidle");
  const shifts = await page.evaluate(() => (globalThis as unknown as { shifts: number[] }).shifts);
  expect(shifts.reduce((sum, shift) => sum + shift, 0)).toBeLessThan(0.001);
  await context.close();
});
