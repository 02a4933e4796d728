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

async function ask(query, variables = {}) {
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
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

const pages = [
  { name: "feed", path: "/", ready: ".post-card" },
  { name: "post", path: `/posts/${post.id}`, ready: ".comment" },
  { name: "post-cost", path: `/posts/${post.id}`, ready: ".comment", click: ".cost summary" },
  { name: "profile", path: `/users/${post.author.id}`, ready: ".post-card" },
  { name: "own-profile", path: `/users/${signIn.user.id}`, ready: ".post-card", isSignedIn: true },
  { name: "write", path: "/write", ready: ".post-form", isSignedIn: true },
  { name: "signin", path: "/signin", ready: ".credentials" },
  { name: "compare", path: "/compare", ready: ".compare-operations" },
  { name: "compare-whole", path: "/compare", ready: ".compare-operations", isWhole: true },
  { name: "operations", path: "/operations", ready: ".operations-projections" },
  { name: "not-found", path: "/nowhere", ready: ".notice" },
  { name: "graphiql", path: "/graphiql", ready: ".graphiql-query-editor .view-line" },
];

mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"],
});
for (const { name: look, colorScheme, viewport } of looks) {
  for (const { name, path, ready, click, isSignedIn = false, isWhole = false } of pages) {
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
    const page = await context.newPage();
    await page.goto(url + path);
    await page.locator(ready).first().waitFor();
    if (click !== undefined) {
      await page.locator(click).click();
    }
    await page.screenshot({ path: join(folder, `${name}-${look}.png`), fullPage: isWhole });
    await context.close();
  }
}
await browser.close();
