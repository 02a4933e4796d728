/**
 * Pictures of every page, or of those that further arguments name, light and dark, on a desk and on a phone, in the folder
 * that is the first argument. The server
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
  { name: "phone-light", colorScheme: "light", viewport: { width: 360, height: 800 } },
  { name: "phone-dark", colorScheme: "dark", viewport: { width: 360, height: 800 } },
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
  `mutation($input: CreateCustomerInput!) {
    createCustomer(input: $input) { accessToken refreshToken customer { id firstName lastName } }
  }`,
  {
    input: {
      firstName: "Eva",
      lastName: "Stone",
      emailAddress: "eva.stone@example.com",
      password: "a hop for each page",
      addresses: [{ addressLine1: "Meadow Lane 7", zipCode: "8001", city: "Zurich", country: "Switzerland" }],
      idempotencyKey: "screenshots",
    },
  },
);
const { createSalesOrder } = await ask(
  "mutation($input: CreateSalesOrderInput!) { createSalesOrder(input: $input) { salesOrder { id } } }",
  { input: { lines: products.map(({ id }) => ({ productId: id, quantity: 2 })), idempotencyKey: "screenshots" } },
  createCustomer.accessToken,
);
/** Who is signed in, as their browsers have it: a session cookie, which each renewal replaces, and what the pages store. */
const user = {
  cookie: { name: "onehop-session", value: signIn.refreshToken, path: "/session" },
  stored: { "onehop:session": JSON.stringify({ user: signIn.user }) },
};
const customer = {
  cookie: { name: "onehop-customer-session", value: createCustomer.refreshToken, path: "/session/customer" },
  stored: {
    "onehop:customer-session": JSON.stringify({ customer: createCustomer.customer }),
    "onehop:cart": JSON.stringify({
      lines: products.map((product) => ({ product, quantity: 2, isGone: false })),
      idempotencyKey: "screenshots of the cart",
    }),
  },
};

const pages = [
  { name: "feed", path: "/", ready: ".post-card" },
  { name: "post", path: `/posts/${post.id}`, ready: ".comment" },
  { name: "post-cost", path: `/posts/${post.id}`, ready: ".comment", click: ".cost summary", showsCosts: true },
  { name: "tag", path: "/tags/rust", ready: ".post-card" },
  { name: "profile", path: `/users/${post.author.id}`, ready: ".post-card" },
  { name: "own-profile", path: `/users/${signIn.user.id}`, ready: ".post-card", account: user },
  { name: "write", path: "/write", ready: ".post-form", account: user },
  { name: "signin", path: "/signin", ready: ".credentials" },
  { name: "compare", path: "/compare", ready: ".compare-operations" },
  { name: "compare-whole", path: "/compare", ready: ".compare-operations", isWhole: true },
  { name: "operations", path: "/operations", ready: ".operations-summary" },
  { name: "shop", path: "/shop", ready: ".category-links" },
  { name: "shop-category", path: `/shop/category/${category.id}`, ready: ".product-card" },
  { name: "shop-product", path: `/shop/product/${products[0].id}`, ready: ".add-to-cart" },
  { name: "shop-cart", path: "/shop/cart", ready: ".place-order", account: customer },
  { name: "shop-address", path: "/shop/cart?step=address", ready: ".address-choice", account: customer },
  { name: "shop-review", path: "/shop/cart?step=review", ready: ".review-lines", account: customer },
  { name: "shop-orders", path: "/shop/orders", ready: ".order", account: customer },
  {
    name: "shop-order",
    path: `/shop/orders?order=${createSalesOrder.salesOrder.id}`,
    ready: ".order-page",
    account: customer,
  },
  { name: "shop-cart-empty", path: "/shop/cart", ready: ".notice" },
  { name: "shop-account", path: "/shop/account", ready: ".customer-email", account: customer },
  { name: "shop-signin", path: "/shop/signin", ready: ".customer-form" },
  { name: "shop-staff", path: "/shop/staff", ready: ".staff-form", account: user },
  { name: "shop-ranking", path: "/shop/ranking", ready: ".ranking ol", account: user },
  { name: "shop-ranking-cost", path: "/shop/ranking", ready: ".rankings ol", account: user, showsCosts: true },
  { name: "not-found", path: "/nowhere", ready: ".notice" },
  { name: "graphiql", path: "/graphiql", ready: ".graphiql-query-editor .view-line" },
];

mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"],
});
/** The names of the pages to look at; none for all. */
const wanted = process.argv.slice(3);
for (const { name: look, colorScheme, viewport } of looks) {
  for (const { name, path, ready, click, account, isWhole = false, showsCosts = false } of pages.filter(
    (page) => wanted.length === 0 || wanted.includes(page.name),
  )) {
    const context = await browser.newContext({ colorScheme, viewport, reducedMotion: "reduce" });
    if (account !== undefined) {
      await context.addCookies([{ ...account.cookie, domain: new URL(url).hostname }]);
      await context.addInitScript((stored) => {
        for (const [key, value] of Object.entries(stored)) {
          globalThis.localStorage.setItem(key, value);
        }
      }, account.stored);
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
      // What it opens may lie below the window.
      await tab.locator(click).locator("xpath=..").scrollIntoViewIfNeeded();
      await tab.evaluate(() => globalThis.scrollTo(0, globalThis.document.body.scrollHeight));
    }
    await tab.screenshot({ path: join(folder, `${name}-${look}.png`), fullPage: isWhole });
    if (account !== undefined) {
      const cookies = await context.cookies();
      account.cookie.value = cookies.find(({ name }) => name === account.cookie.name).value;
    }
    await context.close();
  }
}
await browser.close();
