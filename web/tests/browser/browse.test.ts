/** The pages of a served model's operator: with the printed address, and without it. */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startServer, type Server } from "../server.js";
import { launchBrowser, leave, openPage } from "./browser.js";

const binary = process.env.ONEHOP_BIN ?? "";
const model = resolve(import.meta.dirname, "../../../tests/fixtures/birds.graphql");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SITES = 23;

describe.skipIf(binary === "")("the pages of the operator", () => {
  let data: string;
  let server: Server;
  let browser: Browser;

  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), "onehop-browser-"));
    server = await startServer({ binary, data, arguments: ["--model", model] });
    browser = await launchBrowser();
    const { createObserver } = await ask<{ createObserver: { accessToken: string } }>(
      null,
      "mutation($input: CreateObserverInput!) { createObserver(input: $input) { accessToken } }",
      { name: "Ada", email: "ada@example.com", password: "correct horse battery" },
    );
    for (let number = 0; number < SITES; number += 1) {
      await ask(
        createObserver.accessToken,
        "mutation($input: CreateSiteInput!) { createSite(input: $input) { site { id } } }",
        {
          name: `Marsh ${number}`,
          code: `AB-${100 + number}`,
          location: { latitude: 51.5, longitude: -2.25 },
          hides: [{ label: "North", seats: 4 }],
        },
      );
    }
  });

  afterAll(async () => {
    await browser.close();
    await server.stop();
    await rm(data, { recursive: true, force: true });
  });

  async function ask<Data>(token: string | null, query: string, input: unknown): Promise<Data> {
    const response = await fetch(`${server.url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
      body: JSON.stringify({ query, variables: { input } }),
    });
    const { data: answer, errors } = (await response.json()) as { data: Data; errors?: unknown };
    expect(errors).toBeUndefined();
    return answer;
  }

  test("without the key the page shows no item, and the way to the key", async () => {
    const { page, conduct } = await openPage(browser, "/browse", { url: server.url });
    await page.getByRole("heading", { name: "This page needs the operator key" }).waitFor();
    await page.getByLabel("Key or address").fill("not-the-key");
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByText("This is not the key of the running server.").waitFor();
    expect(await page.locator("table").count()).toBe(0);
    await page.getByLabel("Key or address").fill(server.browse ?? "");
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByRole("heading", { name: "birds" }).waitFor();
    expect(conduct.errors).toEqual([]);
    await leave(page);
  });

  test("the printed address leads to types, items, lists and read models", async () => {
    const requested: string[] = [];
    const watch = (page: Page): void => {
      page.on("request", (request) => requested.push(request.url()));
    };
    const { page, conduct } = await openPage(browser, server.browse ?? "", { url: server.url, watch });
    await page.getByRole("heading", { name: "birds" }).waitFor();
    expect(page.url()).toBe(`${server.url}/browse`);

    await page.getByRole("link", { name: "Site", exact: true }).click();
    const items = page.getByRole("region", { name: "Items" }).locator("tbody tr");
    await items.first().waitFor();
    expect(await items.count()).toBe(20);
    expect(await page.getByText(/^This read: \d+\.\d\d RU$/).count()).toBe(1);
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("Page 2").waitFor();
    expect(await items.count()).toBe(SITES - 20);
    await page.getByRole("button", { name: "JSON" }).click();
    await page.getByText('"code": "AB-').first().waitFor();

    await page.getByRole("button", { name: "Table" }).click();
    await items.first().getByRole("link").click();
    await page
      .getByRole("row", { name: /^wardenId/ })
      .getByRole("link")
      .click();
    await page.getByRole("row", { name: /^email ada@example\.com/ }).waitFor();
    await page.getByRole("link", { name: "sightings" }).click();
    await page.getByText("The list is empty.").waitFor();

    await page.getByRole("link", { name: "Read models" }).click();
    await page.locator(".browse-summary").waitFor();
    await page.getByRole("button", { name: "Predict" }).click();
    await page.getByRole("row", { name: /recent-sites a new site/ }).waitFor();

    expect(conduct.errors).toEqual([]);
    expect(conduct.foreignRequests).toEqual([]);
    const paths = requested.map((url) => new URL(url)).filter(({ pathname }) => !pathname.startsWith("/assets/"));
    expect([...new Set(paths.map(({ pathname, search }) => pathname + search))].sort()).toEqual([
      "/browse",
      "/favicon.svg",
      "/operations/graphql",
    ]);
    await leave(page);
  });

  test.each([360, 1280])("every page is accessible and fits a screen of %s pixels", async (width) => {
    const { page } = await openPage(browser, server.browse ?? "", { url: server.url, width });
    await page.getByRole("heading", { name: "birds" }).waitFor();
    for (const [place, ready] of [
      ["#/", "Containers"],
      ["#/types/Site", "14 fields"],
      ["#/lists/Query.allSites", "Query.allSites"],
      ["#/read-models", "Predicted request charges"],
    ] as const) {
      await page.evaluate((hash) => {
        location.hash = hash;
      }, place);
      await page.getByRole("heading", { name: ready }).waitFor();
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await violations(page), `${place}, ${colorScheme}`).toEqual([]);
      }
      expect(await page.evaluate(() => document.documentElement.scrollWidth), place).toBeLessThanOrEqual(width);
    }
    await leave(page);
  });
});

/** Through the debugger: the page's own policy lets no other script in. */
async function violations(page: Page): Promise<string[]> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Runtime.evaluate", { expression: axe });
  const { result } = await devtools.send("Runtime.evaluate", {
    expression:
      "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => JSON.stringify(violations))",
    awaitPromise: true,
  });
  const found = JSON.parse(result.value as string) as { id: string; nodes: { html: string }[] }[];
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join("; ")}`);
}
