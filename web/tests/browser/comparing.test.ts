/** The comparison of the data models, and the state of the projections. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { projectionsDrained } from "../server.js";
import { baseUrl, launchBrowser, leave, openPage, type Conduct } from "./browser.js";
import { author } from "./people.js";

/** The projections of the blog and of the web store. */
const PROJECTIONS = 13;
/** The containers that they follow, with four feed ranges each. */
const SOURCES = 5;

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

/** The charge of a data model in the first chart, in request units. */
async function charge(model: string): Promise<number> {
  const row = page
    .locator(".compare-charts .bars")
    .first()
    .locator("tr")
    .filter({ has: page.getByRole("rowheader", { name: model, exact: true }) });
  return Number((await row.locator(".value").innerText()).replace(/ RU$/, "").replaceAll(",", ""));
}

describe("the comparison", () => {
  test("shows for each request what it costs under each data model, and why", async () => {
    // Other tests write posts, until none of the newest has a comment or a like.
    const { post, comment, like } = await author();
    const postId = await post("Compared");
    await Promise.all([comment(postId, "Once."), like(postId)]);
    await projectionsDrained(baseUrl);
    ({ page, conduct } = await openPage(browser, "/compare"));
    // The response before the reload is no longer on its way, and is not taken for the next one.
    await page.locator(".compare-operations").waitFor();
    for (const request of ["Q6", "Q2", "Q3", "Q4", "Q5"]) {
      const answered = page.waitForResponse((response) => {
        const body = response.request().postData() ?? "";
        return body.includes("query Comparison") && body.includes(`"${request}"`);
      });
      if (request === "Q6") {
        await page.reload();
      } else {
        await page.getByLabel("Request", { exact: true }).selectOption(request);
      }
      const { data } = (await (await answered).json()) as {
        data: { comparison: { model: string; requestCharge: number }[] };
      };
      // V1 has a second row, with the data loader.
      const charges = new Map(data.comparison.toReversed().map((row) => [row.model, row.requestCharge]));
      const [v1, v3] = [charges.get("V1") ?? 0, charges.get("V3") ?? 0];
      expect(v1, request).toBeGreaterThan(v3);
      await expect.poll(async () => [await charge("V1"), await charge("V3")]).toEqual([v1, v3]);
      expect(await page.locator(".compare-why").first().innerText()).toMatch(
        /^V3 costs (1\/\d+|\d+ %) of V1\. V3 runs .*; V1 runs /,
      );
      expect(await page.locator(".compare-operations tbody tr").count()).toBeGreaterThan(3);
    }
    await page.getByLabel("Request", { exact: true }).selectOption("Q1");
    await page.getByText("All data models do the same here: 1 point read in users.").waitFor();
    expect(await page.locator(".source-estimated").first().innerText()).toBe("estimated");
  });

  test("says from which traffic on copies pay", async () => {
    ({ page, conduct } = await openPage(browser, "/compare"));
    const verdict = page.locator(".mix .compare-why");
    await verdict.waitFor();
    const before = await verdict.innerText();
    expect(before).toMatch(/^V3 costs less than V1 above [\d.]+ reads per write; this mix has [\d.]+\.$/);
    await page.getByRole("slider", { name: /^C2/ }).focus();
    await page.keyboard.press("End");
    expect(await verdict.innerText()).not.toBe(before);
    for (const name of ["C1", "C2", "C3", "C4"]) {
      await page.getByRole("slider", { name: new RegExp(`^${name}`) }).focus();
      await page.keyboard.press("Home");
    }
    expect(await verdict.innerText()).toBe("Without writes, copies cost nothing.");
    await page.getByLabel("Charges").selectOption("measured");
    expect(await page.locator(".mix .source").innerText()).toBe("measured");
  });
});

test("operations show every projection up to date", async () => {
  ({ page, conduct } = await openPage(browser, "/operations"));
  await page.getByText("Every copy is up to date.").waitFor();
  expect(await page.locator(".operations-projections tbody tr").count()).toBe(PROJECTIONS);
});

test("operations show who follows each feed range", async () => {
  ({ page, conduct } = await openPage(browser, "/operations"));
  await page.getByText(/^Details of \d+ projections$/).click();
  await page.getByText("Every lease is held, by this process.").waitFor();
  const leases = page.getByRole("region", { name: "Leases by feed range" });
  expect(await leases.getByRole("row", { name: /this process/ }).count()).toBe(SOURCES * 4);
  await leases.getByRole("row", { name: /no owner/ }).waitFor({ state: "detached" });
});
