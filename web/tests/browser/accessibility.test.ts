/** Every page as axe sees it, light and dark, on a phone and on a wide screen; and none is wider than its screen. */
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { launchBrowser, openPage } from "./browser.js";
import { author, signUp } from "./people.js";

interface Violation {
  id: string;
  impact: string | null;
  nodes: { html: string; failureSummary?: string }[];
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const WIDTHS = [360, 1600];

let browser: Browser;
let postId: string;

beforeAll(async () => {
  browser = await launchBrowser();
  const writer = await author();
  postId = await writer.post(
    "Seen by axe",
    "# A heading\n\nText with a [link](https://example.com).\n\n- a list\n\n| a | table |\n|---|---|\n| 1 | 2 |\n",
  );
  await writer.comment(postId, "A comment.");
});

afterAll(async () => {
  await browser.close();
});

/** What to look at, and when it is there. */
const pages: [name: string, path: () => string, ready: string][] = [
  ["the feed", () => "/", ".post-card"],
  ["a post", () => `/posts/${postId}`, ".comment"],
  ["signing in", () => "/signin", ".credentials"],
  ["the comparison", () => "/compare", ".compare-operations"],
  ["operations", () => "/operations", ".operations-projections"],
];

const own: [name: string, link: string, ready: string][] = [
  ["one's own profile", ".account-name", ".profile"],
  ["writing", ".account .button", ".post-form"],
];

async function look(page: Page): Promise<void> {
  const width = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(width, "wider than the screen").toBeLessThanOrEqual(0);
  // Through the debugger: the page's own policy lets no other script in.
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Runtime.evaluate", { expression: axe });
  const { result } = await devtools.send("Runtime.evaluate", {
    expression:
      "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => JSON.stringify(violations))",
    awaitPromise: true,
  });
  const violations = JSON.parse(result.value as string) as Violation[];
  expect(
    violations.map(({ id, impact, nodes }) => `${id} (${impact ?? ""}): ${nodes.map(({ html }) => html).join("; ")}`),
  ).toEqual([]);
}

describe.each(["light", "dark"] as const)("%s", (colorScheme) => {
  test.each(pages)("%s has no fault that axe finds", async (_name, path, ready) => {
    const { page } = await openPage(browser, path());
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.locator(ready).first().waitFor();
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      await look(page);
    }
    await page.context().close();
  });
});

test.each(own)("%s has no fault that axe finds", async (_name, link, ready) => {
  const { page } = await openPage(browser, "/");
  await signUp(page);
  await page.locator(link).first().click();
  await page.locator(ready).waitFor();
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    await look(page);
  }
  await page.context().close();
});

test("what is not there has no fault that axe finds", async () => {
  const { page } = await openPage(browser, "/nowhere", { expectedStatuses: [404] });
  await page.locator(".notice").waitFor();
  await look(page);
  await page.context().close();
});
