/**
 * Pictures of every page, light and dark, on a desk and on a phone, in the folder that is the first argument. The server
 * is at ONEHOP_URL, with demo data whose password is DEMO_PASSWORD.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const url = process.env.ONEHOP_URL ?? "http://127.0.0.1:8080";
const folder = process.argv[2] ?? "screenshots";
const looks = [
  { name: "desktop-light", colorScheme: "light", viewport: { width: 1280, height: 900 } },
  { name: "desktop-dark", colorScheme: "dark", viewport: { width: 1280, height: 900 } },
  { name: "phone-light", colorScheme: "light", viewport: { width: 375, height: 812 } },
  { name: "phone-dark", colorScheme: "dark", viewport: { width: 375, height: 812 } },
];

async function ask(query, variables = {}, accessToken = "") {
  const authorization = accessToken === "" ? {} : { authorization: `Bearer ${accessToken}` };
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", ...authorization },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await response.json();
  if (errors !== undefined) {
    throw new Error(JSON.stringify(errors));
  }
  return data;
}

const { feed } = await ask("{ feed(first: 50) { nodes { id commentCount author { id } } } }");
const post = feed.nodes.toSorted((a, b) => b.commentCount - a.commentCount)[0];
const { signIn } = await ask(
  "mutation($input: SignInInput!) { signIn(input: $input) { refreshToken user { id username } } }",
  {
    input: { username: "ada", password: process.env.DEMO_PASSWORD ?? "one-hop-at-a-time" },
  },
);

const { productCategories } = await ask(
  "{ productCategories { id products(first: 2) { nodes { id name price { amount currencyCode } } } } }",
);
const category = productCategories.find(({ products }) => products.nodes.length === 2);
const products = category.products.nodes;
const { createCustomer } = await ask(
  "mutation($input: CreateCustomerInput!) { createCustomer(input: $input) { accessToken customer { id firstName lastName } } }",
  {
    input: {
      firstName: "Eva",
      lastName: "Stone",
      emailAddress: "eva.stone@example.com",
      password: "a hop for each page",
      idempotencyKey: "screenshots",
    },
  },
);
await ask(
  "mutation($input: CreateSalesOrderInput!) { createSalesOrder(input: $input) { salesOrder { id } } }",
  { input: { lines: products.map(({ id }) => ({ productId: id, quantity: 2 })), idempotencyKey: "screenshots" } },
  createCustomer.accessToken,
);
/** What the browser of a customer has stored. */
const customerStorage = {
  session: JSON.stringify({ ...createCustomer, hasEnded: false }),
  cart: JSON.stringify({
    lines: products.map((product) => ({ product, quantity: 2, isGone: false })),
    idempotencyKey: "screenshots of the cart",
  }),
};

const pages = [
  { name: "feed", path: "/", ready: ".post-card" },
  { name: "post", path: `/posts/${post.id}`, ready: ".comment" },
  { name: "post-cost", path: `/posts/${post.id}`, ready: ".comment", click: ".cost summary", showsCosts: true },
  { name: "profile", path: `/users/${post.author.id}`, ready: ".post-card" },
  { name: "own-profile", path: `/users/${signIn.user.id}`, ready: ".post-card", isSignedIn: true },
  { name: "write", path: "/write", ready: ".post-form", isSignedIn: true },
  { name: "signin", path: "/signin", ready: ".credentials" },
  { name: "compare", path: "/compare", ready: ".compare-operations" },
  { name: "compare-whole", path: "/compare", ready: ".compare-operations", isWhole: true },
  { name: "operations", path: "/operations", ready: ".operations-projections" },
  { name: "shop", path: "/shop", ready: ".catalogue" },
  { name: "shop-category", path: `/shop/category/${category.id}`, ready: ".product-card" },
  { name: "shop-product", path: `/shop/product/${products[0].id}`, ready: ".add-to-cart" },
  { name: "shop-cart", path: "/shop/cart", ready: ".place-order", isCustomer: true },
  { name: "shop-orders", path: "/shop/orders", ready: ".order", isCustomer: true },
  { name: "shop-signin", path: "/shop/signin", ready: ".customer-form" },
  { name: "shop-staff", path: "/shop/staff", ready: ".staff-form", isSignedIn: true },
  { name: "shop-ranking", path: "/shop/ranking", ready: ".ranking ol", isSignedIn: true },
  { name: "shop-ranking-cost", path: "/shop/ranking", ready: ".rankings ol", isSignedIn: true, showsCosts: true },
  { name: "not-found", path: "/nowhere", ready: ".notice" },
  { name: "graphiql", path: "/graphiql", ready: ".graphiql-query-editor .view-line" },
];

mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"],
});
for (const { name: look, colorScheme, viewport } of looks) {
  for (const page of pages) {
    const {
      name,
      path,
      ready,
      click,
      isSignedIn = false,
      isCustomer = false,
      isWhole = false,
      showsCosts = false,
    } = page;
    const context = await browser.newContext({ colorScheme, viewport, reducedMotion: "reduce" });
    if (isSignedIn) {
      await context.addCookies([
        { name: "onehop-session", value: signIn.refreshToken, domain: new URL(url).hostname, path: "/session" },
      ]);
      await context.addInitScript(
        (session) => {
          globalThis.localStorage.setItem("onehop:session", session);
        },
        JSON.stringify({ user: signIn.user }),
      );
    }
    if (isCustomer) {
      await context.addInitScript(({ session, cart }) => {
        globalThis.sessionStorage.setItem("onehop:customer", session);
        globalThis.localStorage.setItem("onehop:cart", cart);
      }, customerStorage);
    }
    if (showsCosts) {
      await context.addInitScript(() => {
        globalThis.localStorage.setItem("onehop:show-costs", "yes");
      });
    }
    const tab = await context.newPage();
    await tab.goto(url + path);
    await tab.locator(ready).first().waitFor();
    if (click !== undefined) {
      await tab.locator(click).click();
    }
    await tab.screenshot({ path: join(folder, `${name}-${look}.png`), fullPage: isWhole });
    await context.close();
  }
}
await browser.close();
