import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { launchBrowser, openPage, type Conduct } from "./browser.js";

const SCRIPT_BYTES_MAX = 50_000;

let browser: Browser;
let page: Page;
let conduct: Conduct;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser.close();
});

beforeEach(async () => {
  ({ page, conduct } = await openPage(browser, "/"));
  await statusSays("V3 answered");
});

afterEach(async () => {
  await page.context().close();
});

describe("the landing page", () => {
  test("shows the ten newest posts and what reading them was charged", async () => {
    expect(await page.locator("#feed article").count()).toBe(10);
    expect(await page.locator("#feed article h3").first().textContent()).not.toBe("");
    expect(await requestCharge("V3")).toBeGreaterThan(0);
    expect(await page.getByRole("status").textContent()).toMatch(/^V3 answered with 10 posts for [\d,.]+ RU\.$/);
  });

  test("asks another data model for the same posts and shows its higher charge", async () => {
    const titles = await page.locator("#feed article h3").allTextContents();
    for (const model of ["V2", "V1"]) {
      await page.getByRole("radio", { name: model }).check();
      await statusSays(`${model} answered`);
      expect(await page.locator("#feed article h3").allTextContents()).toEqual(titles);
      expect(await requestCharge(model)).toBeGreaterThan(await requestCharge("V3"));
    }
  });

  test("loads little script, asks no other host and reports no error", async () => {
    expect(await conduct.scriptBytes()).toBeLessThan(SCRIPT_BYTES_MAX);
    expect(conduct.foreignRequests).toEqual([]);
    expect(conduct.errors).toEqual([]);
  });

  test("leads to the playground", async () => {
    await page.getByRole("link", { name: "Open the playground" }).click();
    await page.getByRole("heading", { name: "Examples" }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/graphiql");
  });
});

async function statusSays(text: string): Promise<void> {
  await page.getByRole("status").filter({ hasText: text }).waitFor();
}

async function requestCharge(model: string): Promise<number> {
  const text = await page.locator(`.model-charge[data-model="${model}"]`).textContent();
  return Number(text?.replace(/ RU$/, "").replaceAll(",", ""));
}
