/**
 * Every page as axe sees it, light and dark, on a phone and on a wide screen; and no page is wider than its
 * screen.
 */
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { baseUrl, launchBrowser, leave, openPage } from "./browser.js";
import { showCosts } from "./cost-switch.js";
import { author, signUp } from "./people.js";
import {
  addToCart,
  categories,
  fillAddress,
  placeOrder,
  signInAs,
  signInAsStaff,
  signUpCustomer,
  STAFF,
  type Category,
} from "./shop.js";

interface Violation {
  id: string;
  impact: string | null;
  nodes: { html: string; failureSummary?: string }[];
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const WIDTHS = [360, 1600];
/** The rules about colours. The dark page is the light one in other colours. */
const RULES_OF_COLOURS = ["color-contrast", "link-in-text-block"] as const;

let browser: Browser;
/** The page of a stranger, without a session in any test. */
let stranger: Page;
let postId: string;
let category: Category | undefined;

beforeAll(async () => {
  browser = await launchBrowser();
  stranger = await browser.newPage();
  [category] = await categories();
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

/** The pages, and a sign that they are there. */
const pages: [name: string, path: () => string, ready: string][] = [
  ["the feed", () => "/", ".post-card"],
  ["a post", () => `/posts/${postId}`, ".comment"],
  ["signing in", () => "/signin", ".credentials"],
  ["the comparison", () => "/compare", ".compare-operations"],
  ["operations", () => "/operations", ".operations-summary"],
  ["a search", () => "/search?q=axe", ".post-card"],
  ["the authors", () => "/authors", ".authors"],
  ["a search in the shop", () => "/shop/search?q=b", ".product-card"],
  ["the shop", () => "/shop", ".category-links"],
  ["a category", () => `/shop/category/${category?.id ?? ""}`, ".product-card"],
  ["a tag", () => `/shop/tag/${category?.products[0]?.tags[0]?.id ?? ""}`, ".product-card"],
  ["a product", () => `/shop/product/${category?.products[0]?.id ?? ""}`, ".add-to-cart"],
  ["signing in as a customer", () => "/shop/signin", ".customer-form"],
];

/** Addresses at which there is nothing, and pages for signed-in people that strangers open. */
const missing: [name: string, path: string, status: number][] = [
  ["an unknown path", "/nowhere", 404],
  ["a post that is not there", "/posts/gone", 404],
  ["a user who is not there", "/users/gone", 404],
  ["a product that is not there", "/shop/product/gone", 404],
  ["a category that is not there", "/shop/category/gone", 404],
  ["a tag that is not there", "/shop/tag/gone", 404],
  ["orders of a stranger", "/shop/orders", 200],
  ["the account of a stranger", "/shop/account", 200],
  ["the staff page of a stranger", "/shop/staff", 200],
  ["the ranking of a stranger", "/shop/ranking", 200],
  ["the account settings of a stranger", "/settings", 200],
  ["the moderation log of a stranger", "/moderation", 200],
  ["writing as a stranger", "/write", 200],
  ["an empty cart", "/shop/cart", 200],
];

const own: [name: string, link: string, ready: string][] = [
  ["one's own profile", ".account-name", ".profile"],
  ["writing", ".account .button", ".post-form"],
];

async function expectToFit(page: Page): Promise<void> {
  // Fonts and pictures may still arrive.
  const overflow = () =>
    page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  await expect.poll(overflow, { message: "wider than the screen", timeout: 5_000 }).toBeLessThanOrEqual(0);
}

/** Fails where axe finds a fault, under the given rules or under all. */
async function look(page: Page, rules?: readonly string[]): Promise<void> {
  await expectToFit(page);
  // Through the debugger: the page's own policy lets no other script in.
  const devtools = await page.context().newCDPSession(page);
  const { result: type } = await devtools.send("Runtime.evaluate", { expression: "typeof axe" });
  if (type.value === "undefined") {
    await devtools.send("Runtime.evaluate", { expression: axe });
  }
  const options = JSON.stringify({ resultTypes: ["violations"], runOnly: rules });
  const { result } = await devtools.send("Runtime.evaluate", {
    expression: `axe.run(document, ${options}).then(({ violations }) => JSON.stringify(violations))`,
    awaitPromise: true,
  });
  await devtools.detach();
  const violations = JSON.parse(result.value as string) as Violation[];
  expect(
    violations.map(({ id, impact, nodes }) => `${id} (${impact ?? ""}): ${nodes.map(({ html }) => html).join("; ")}`),
  ).toEqual([]);
}

/** Looks at the page that is shown, light and dark, on a phone and on a wide screen. */
async function lookAllWays(page: Page, ready: string): Promise<void> {
  await page.locator(ready).first().waitFor();
  for (const [colorScheme, rules] of [["light"], ["dark", RULES_OF_COLOURS]] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      await look(page, rules);
    }
  }
}

async function openAsStranger(path: string): Promise<void> {
  await stranger.goto(new URL(path, baseUrl).href);
}

test.each(pages)("%s has no fault that axe finds, and fits a phone with large text", async (_name, path, ready) => {
  await openAsStranger(path());
  await lookAllWays(stranger, ready);
  await stranger.setViewportSize({ width: 360, height: 900 });
  await stranger.evaluate(() => {
    document.documentElement.style.fontSize = "200%";
  });
  await expectToFit(stranger);
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
  await leave(page);
});

test("account settings have no fault that axe finds", async () => {
  const { page } = await openPage(browser, "/");
  await signUp(page);
  await page.goto(new URL("/settings", page.url()).href);
  await page.getByRole("button", { name: "Change username" }).click();
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByRole("button", { name: "Delete account" }).click();
  await lookAllWays(page, ".rename form");
  await leave(page);
});

test("the edit of a comment has no fault that axe finds", async () => {
  const { page } = await openPage(browser, `/posts/${postId}`);
  await signUp(page);
  await page.getByLabel("Your comment").fill("To be edited.");
  await page.getByLabel("Your comment").press("Control+Enter");
  await page.locator(".comment", { hasText: "To be edited." }).getByRole("button", { name: "Edit" }).click();
  await lookAllWays(page, ".comment .comment-form");
  await leave(page);
});

test("the moderation of staff has no fault that axe finds", async () => {
  const { page } = await openPage(browser, "/signin");
  await signInAs(page, STAFF);
  await page.goto(new URL(`/posts/${postId}`, page.url()).href);
  await page.getByRole("button", { name: "Remove post" }).click();
  await lookAllWays(page, ".reason-form");
  await page.goto(new URL("/moderation", page.url()).href);
  await lookAllWays(page, ".moderation-log");
  await leave(page);
});

test("a customer's sign-up, cart, orders and account have no fault that axe finds", async () => {
  const { page } = await openPage(browser, `/shop/product/${category?.products[0]?.id ?? ""}`);
  await page.locator(".add-to-cart").waitFor();
  await addToCart(page, 2);
  await page.getByRole("link", { name: "Sign in to check out" }).click();
  await page.getByRole("button", { name: "Sign up" }).click();
  await lookAllWays(page, ".customer-form");
  await page.getByRole("button", { name: "Sign in", exact: true }).first().click();
  await signUpCustomer(page);
  await lookAllWays(page, ".address-form");
  await fillAddress(page);
  await page.getByRole("button", { name: "Deliver to this address" }).click();
  await lookAllWays(page, ".review-lines");
  await page.getByRole("link", { name: "Delivery", exact: true }).click();
  await lookAllWays(page, ".address-choice");
  await page.getByRole("link", { name: "Cart", exact: true }).first().click();
  await lookAllWays(page, ".cart-line");
  await page.goto(new URL("/shop/cart?step=review", page.url()).href);
  await placeOrder(page);
  await lookAllWays(page, ".order-page");
  await page.getByRole("link", { name: "All orders" }).click();
  await lookAllWays(page, ".order");
  await page.getByRole("link", { name: "Eva Stone" }).click();
  await lookAllWays(page, ".customer-email");
  await page.getByRole("button", { name: "Change e-mail address" }).click();
  await page.getByRole("button", { name: "Change password" }).click();
  await lookAllWays(page, ".change-password .button");
  await leave(page);
});

test("staff's pages of the shop have no fault that axe finds", async () => {
  const { page } = await openPage(browser, "/shop/ranking");
  await signInAsStaff(page, "ranking");
  await lookAllWays(page, ".ranking ol");
  await page.setViewportSize({ width: 360, height: 900 });
  await page.evaluate(() => {
    document.documentElement.style.fontSize = "200%";
  });
  await expectToFit(page);
  await page.evaluate(() => {
    document.documentElement.style.fontSize = "";
  });
  await showCosts(page);
  await lookAllWays(page, ".rankings ol");
  await page.getByRole("link", { name: "Staff", exact: true }).click();
  await lookAllWays(page, ".staff-tags");
  await page.getByRole("link", { name: "Shipping", exact: true }).click();
  await page.locator(".staff-customers a").first().click();
  await lookAllWays(page, ".order");
  await page.getByRole("link", { name: "Names", exact: true }).click();
  await lookAllWays(page, ".staff-form");
  await leave(page);
});

test.each(missing)("%s has no fault that axe finds", async (_name, path, status) => {
  await openAsStranger(path);
  expect((await fetch(stranger.url())).status).toBe(status);
  await lookAllWays(stranger, ".notice");
});

test("the editor, its preview and an edit have no fault that axe finds", async () => {
  const { page } = await openPage(browser, "/");
  await signUp(page);
  await page.getByRole("link", { name: "Write" }).click();
  await page.getByLabel("Title").fill("Under the eyes of axe");
  await page.getByLabel("Text").fill("Some **bold** words.\n\n> A quote.");
  await page.getByRole("button", { name: "Preview" }).click();
  await lookAllWays(page, ".editor-preview strong");
  await page.getByRole("button", { name: "Publish" }).click();
  await page.getByRole("link", { name: "Edit" }).click();
  await lookAllWays(page, ".post-form");
  await leave(page);
});

test("the menu for engineers and open details have no fault that axe finds", async () => {
  const { page } = await openPage(browser, "/operations");
  await page.getByText(/^Details of \d+ projections$/).click();
  await lookAllWays(page, ".operations-projections");
  await page.getByText("For engineers").click();
  await lookAllWays(page, ".engineers li");
  await page.keyboard.press("Escape");
  expect(await page.getByRole("link", { name: "Operations" }).isVisible()).toBe(false);
  await leave(page);
});
