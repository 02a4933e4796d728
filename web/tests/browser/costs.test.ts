/**
 * The switch *Show costs*: hidden from readers and shoppers, shown on engineers' pages, and never in the way.
 */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { launchBrowser, leave, openPage, type Conduct } from "./browser.js";
import { costSwitch, showCosts } from "./cost-switch.js";
import { signUp } from "./people.js";
import { categories } from "./shop.js";

/** Words of the database, which readers and shoppers do not meet. */
const DATABASE = /partition|projection|change feed|read model|data model|request unit|one hop|\bRU\b/i;

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

async function open(path: string, width?: number): Promise<void> {
  ({ page, conduct } = await openPage(browser, path, width === undefined ? {} : { width }));
}

function costs(of = page) {
  return of.getByText("for this page");
}

describe("costs", () => {
  test("are not shown to readers and shoppers, nor is the database", async () => {
    const [category] = await categories();
    const paths: [path: string, ready: string][] = [
      ["/", ".post-card"],
      ["/signin", ".credentials"],
      ["/shop", ".category-links"],
      [`/shop/category/${category?.id ?? ""}`, ".product-card"],
      [`/shop/product/${category?.products[0]?.id ?? ""}`, ".add-to-cart"],
      ["/shop/cart", ".notice"],
      ["/shop/orders", ".notice"],
      ["/shop/signin", ".customer-form"],
    ];
    await open("/");
    for (const [path, ready] of paths) {
      await page.goto(new URL(path, page.url()).href);
      await page.locator(ready).first().waitFor();
      expect(await costSwitch(page).isChecked(), path).toBe(false);
      expect(await costs().count(), path).toBe(0);
      // Posts are texts of their writers.
      const texts = await page.locator(".masthead, h1, .shop-bar, .catalogue h2, form, .notice, .cost").allInnerTexts();
      expect(texts.join("\n"), path).not.toMatch(DATABASE);
      const description = await page.locator("meta[name=description]").getAttribute("content");
      expect(description, path).not.toMatch(DATABASE);
    }
  });

  test("are shown on engineers' pages", async () => {
    await open("/compare");
    for (const path of ["/compare", "/operations"]) {
      await page.goto(new URL(path, page.url()).href);
      await costs().waitFor();
      expect(await costSwitch(page).isChecked(), path).toBe(true);
    }
    await page.getByRole("link", { name: "Blog", exact: true }).click();
    await page.locator(".post-card").first().waitFor();
    expect(await costs().count()).toBe(0);
  });

  test("are shown on all pages once chosen by keyboard, and in later visits and other tabs", async () => {
    await open("/shop");
    const other = await page.context().newPage();
    await other.goto(page.url());
    await page.locator(".category-links").waitFor();
    const menu = page.getByText("For engineers");
    const hasFocus = (of: typeof menu) => of.evaluate((it) => it === document.activeElement);
    for (let presses = 0; presses < 8 && !(await hasFocus(menu)); presses += 1) {
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Enter");
    for (let presses = 0; presses < 5 && !(await hasFocus(costSwitch(page))); presses += 1) {
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Space");
    await costs().waitFor();
    await costs(other).waitFor();
    await page.getByRole("link", { name: "Blog", exact: true }).click();
    await page.locator(".post-card").first().waitFor();
    await costs().waitFor();
    await page.reload();
    await costs().waitFor();
    await showCosts(page, false);
    expect(await costs().count()).toBe(0);
    await page.goto(new URL("/compare", page.url()).href);
    await page.locator(".compare-operations").waitFor();
    expect(await costs().count()).toBe(0);
  });

  test("stay in the playground's bar until they are switched off", async () => {
    await open("/graphiql");
    await page.locator(".graphiql-query-editor .view-line").first().waitFor();
    await page.getByRole("button", { name: /^Execute query/ }).click();
    const charge = page.getByLabel("Request charge of the last request");
    await charge.filter({ hasText: "RU" }).waitFor();
    await costSwitch(page).uncheck();
    await expect.poll(() => charge.innerText()).toBe("");
  });
});

describe.each([1280, 360])("with costs on a screen of %i pixels", (width) => {
  test("no button is below them", async () => {
    await open("/", width);
    await showCosts(page);
    await signUp(page);
    await page.getByRole("link", { name: "Write" }).click();
    await page.getByLabel("Text").waitFor();
    await costs().click();
    const covered = await page.evaluate(() => {
      const wrong: string[] = [];
      for (let top = 0; top < document.documentElement.scrollHeight; top += 100) {
        scrollTo(0, top);
        const cost = document.querySelector(".cost")?.getBoundingClientRect();
        for (const button of document.querySelectorAll("main :is(button, a, input, textarea)")) {
          const box = button.getBoundingClientRect();
          if (cost === undefined || (box.bottom > cost.top && box.top < cost.bottom)) {
            wrong.push(`${button.textContent} at ${top}`);
          }
        }
      }
      return wrong;
    });
    expect(covered).toEqual([]);
  });

  test("the end of the feed is within reach", async () => {
    await open("/", width);
    await page.locator(".post-card").first().waitFor();
    await showCosts(page);
    const cards = page.locator(".post-card");
    const shown = await cards.count();
    await costs().scrollIntoViewIfNeeded();
    await page.getByRole("button", { name: "Show older posts" }).click();
    await cards.nth(shown).waitFor();
  });
});
