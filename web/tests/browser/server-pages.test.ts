/**
 * Pages from the server: readable without scripts, taken over by the application without a request, and with
 * metadata for programs.
 */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { baseUrl, launchBrowser, leave, openPage } from "./browser.js";
import { author, signUp, signUpHere } from "./people.js";
import { categories, signUpCustomer, type Category, type Sold } from "./shop.js";

let browser: Browser;
let withoutScripts: Page;
let postId: string;
let category: Category;

beforeAll(async () => {
  browser = await launchBrowser();
  withoutScripts = await browser.newPage({ javaScriptEnabled: false });
  const [first] = await categories();
  if (first === undefined) {
    throw new Error("The demo has no category with two products.");
  }
  category = first;
  postId = await (await author()).post("Read without scripts");
});

afterAll(async () => {
  await browser.close();
});

const product = (): Sold => {
  const [first] = category.products;
  if (first === undefined) {
    throw new Error("The category has no product.");
  }
  return first;
};

const pages: [name: string, path: () => string, heading: () => string, text: () => string][] = [
  ["the feed", () => "/", () => "Latest posts", () => "Read without scripts"],
  ["a post", () => `/posts/${postId}`, () => "Read without scripts", () => "No comments yet"],
  ["the shop", () => "/shop", () => "Shop", () => category.name],
  ["a category", () => `/shop/category/${category.id}`, () => category.name, () => product().name],
  ["a search", () => "/search?q=read+without", () => "Search", () => "Read without scripts"],
  ["a search without results", () => "/search?q=zzyzx", () => "Search", () => "No posts with these words"],
  [
    "a search in the shop",
    () => `/shop/search?q=${encodeURIComponent(product().name)}`,
    () => "Search",
    () => product().name,
  ],
  ["a product", () => `/shop/product/${product().id}`, () => product().name, () => "You may also like"],
];

describe.each(pages)("%s", (_name, path, heading, text) => {
  test("is read without scripts", async () => {
    const page = withoutScripts;
    await page.goto(new URL(path(), baseUrl).href);
    await page.getByRole("heading", { level: 1, name: heading() }).waitFor();
    expect(await page.locator("main").innerText()).toContain(text());
    expect(await page.locator(".awaits-script:visible").count()).toBe(0);
  });

  test("is taken over without a request", async () => {
    const queries: string[] = [];
    const { page, conduct } = await openPage(browser, path(), {
      watch: (watched) => {
        watched.on("request", (request) => {
          if (new URL(request.url()).pathname === "/graphql") {
            queries.push(request.postData() ?? "");
          }
        });
      },
    });
    // Only the application has this link.
    await page.locator(".skip").waitFor({ state: "attached" });
    await page.locator(".awaits-script").first().waitFor({ state: "detached" });
    await page.waitForLoadState("networkidle");
    await page.getByRole("heading", { level: 1, name: heading() }).waitFor();
    expect(await page.locator("main").innerText()).toContain(text());
    expect(queries).toEqual([]);
    expect(conduct.errors).toEqual([]);
    await leave(page);
  });
});

/** A page of the server whose scripts are on their way, and the function that lets them arrive. */
async function pageBeforeScripts(path: string): Promise<{ page: Page; letScriptsArrive: () => void }> {
  const context = await browser.newContext();
  const page = await context.newPage();
  let letScriptsArrive: () => void = () => undefined;
  const scriptsMayArrive = new Promise<void>((done) => {
    letScriptsArrive = done;
  });
  await page.route("**/*.js", async (route) => {
    await scriptsMayArrive;
    await route.continue();
  });
  await page.goto(new URL(path, baseUrl).href, { waitUntil: "commit" });
  return { page, letScriptsArrive };
}

test("a menu that is opened before the application arrives stays open", async () => {
  const { page, letScriptsArrive } = await pageBeforeScripts("/");
  await page.getByText("For engineers").click();
  await page.getByRole("link", { name: "Compare", exact: true }).waitFor();
  letScriptsArrive();
  // Only the application has this switch.
  await page.getByRole("switch", { name: "Show costs" }).waitFor();
  expect(await page.locator("details.engineers").getAttribute("open")).not.toBeNull();
  await page.context().close();
});

test.each([
  ["a post", () => `/posts/${postId}`, "/signin", signUpHere],
  ["the shop", () => "/shop", "/shop/signin", signUpCustomer],
])("a sign-in on %s before the application arrives leads back to it", async (_name, path, signIn, signUpOn) => {
  const { page, letScriptsArrive } = await pageBeforeScripts(path());
  await page.getByRole("link", { name: "Sign in" }).click();
  await page.waitForURL((url) => url.pathname === signIn, { waitUntil: "commit" });
  letScriptsArrive();
  await signUpOn(page);
  await page.waitForURL((url) => url.pathname === path());
  await page.context().close();
});

test("a page that is opened from another one asks the server", async () => {
  const { page } = await openPage(browser, "/shop");
  const asked = page.waitForRequest((request) => request.postData()?.includes("query Feed") === true);
  await page.getByRole("link", { name: "Blog", exact: true }).click();
  await asked;
  await page.locator(".post-card").first().waitFor();
  await leave(page);
});

test("a signed-in reader gets their own rights after the text", async () => {
  const { page } = await openPage(browser, "/");
  await signUp(page);
  await page.getByRole("link", { name: "Write" }).click();
  await page.getByLabel("Title").fill("Mine");
  await page.getByLabel("Text").fill("My words.");
  await page.getByRole("button", { name: "Publish" }).click();
  await page.getByRole("link", { name: "Edit" }).waitFor();
  await page.reload();
  await page.getByRole("link", { name: "Edit" }).waitFor();
  await leave(page);
});

test("the search of the shop is the current place, and one for products, also without scripts", async () => {
  const places = withoutScripts.getByRole("navigation", { name: "Main" });
  await withoutScripts.goto(new URL("/shop", baseUrl).href);
  expect(await places.locator("[aria-current]").allInnerTexts()).toEqual(["Shop"]);
  await places.getByRole("link", { name: "Search" }).click();
  await withoutScripts.waitForURL("**/shop/search");
  expect(await places.locator("[aria-current]").allInnerTexts()).toEqual(["Search"]);
});

test("a page comes with what programs need", async () => {
  const html = await (await fetch(new URL(`/shop/product/${product().id}`, baseUrl))).text();
  expect(html).toContain(`<link rel="canonical" href="${baseUrl}/shop/product/${product().id}" />`);
  const linked = /<script type="application\/ld\+json">(.*?)<\/script>/.exec(html)?.[1] ?? "";
  const [described] = JSON.parse(linked) as { "@type": string; offers: { price: string } }[];
  expect(described?.["@type"]).toBe("Product");
  expect(described?.offers.price).toBe(product().price.amount);
});

test("crawlers find every post and product, and readers of feeds the newest posts", async () => {
  const robots = await (await fetch(new URL("/robots.txt", baseUrl))).text();
  const index = /^Sitemap: (.*)$/m.exec(robots)?.[1] ?? "";
  const addresses = async (url: string) =>
    [...(await (await fetch(url)).text()).matchAll(/<loc>(.*?)<\/loc>/g)].map(([, address = ""]) => address);
  const all = (await Promise.all((await addresses(index)).map(addresses))).flat();
  expect(all).toContain(`${baseUrl}/posts/${postId}`);
  expect(all).toContain(`${baseUrl}/shop/product/${product().id}`);
  const feed = await fetch(new URL("/feed.atom", baseUrl));
  expect(feed.headers.get("content-type")).toContain("application/atom+xml");
  expect(await feed.text()).toContain("<title>Read without scripts</title>");
});

test("the shop does not load the font of texts", async () => {
  const shop = await (await fetch(new URL("/shop", baseUrl))).text();
  const feed = await (await fetch(baseUrl)).text();
  expect(shop).not.toContain('crossorigin="" href="/assets/source-serif');
  expect(feed).toContain('crossorigin="" href="/assets/source-serif');
});
