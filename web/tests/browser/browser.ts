import { chromium, type Browser, type Page, type Request } from "playwright-core";
import { workerUrl } from "../worker.js";

/** The first words of the browser's message about an answer with an error status. */
const REFUSED_IN_CONSOLE = "Failed to load resource: the server responded with a status of";
/** Mutations that end the session, or replace it by another one. */
const ENDS_SESSION = /mutation (?:Change(?:Customer)?Password|SignOutCustomerEverywhere|DeleteUser)\b/;

/** The events of a page or its context that tests listen to. */
const WATCHED_EVENTS = ["request", "requestfailed", "response", "console", "pageerror", "websocket"];

/** The height of a page's window, in pixels. */
const HEIGHT = 900;

export const baseUrl = workerUrl;

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** The conduct of a page beside the test's own checks. */
export interface Conduct {
  foreignRequests: string[];
  errors: string[];
}

export interface OpenOptions {
  /** The URL of the server; by default the server that all tests share. */
  url?: string;
  /** Answers that are refusals on purpose, by their status. */
  expectedStatuses?: readonly number[];
  width?: number;
  /** Observes the page from before its first request. */
  watch?: (page: Page) => void | Promise<void>;
}

/**
 * Pages that were left, by their browser and their origin. Such a page takes a quarter of the CPU time of a
 * new one.
 */
const leftPages = new WeakMap<Browser, Map<string, Page[]>>();

/**
 * A page without cookies and stored data in a browser context that no other page has, watched from before its
 * first request.
 */
export async function openPage(
  browser: Browser,
  path: string,
  { url = baseUrl, expectedStatuses = [], width = 1440, watch }: OpenOptions = {},
): Promise<{ page: Page; conduct: Conduct }> {
  const page = leftPages.get(browser)?.get(url)?.pop() ?? (await newPage(browser));
  const context = page.context();
  if (page.viewportSize()?.width !== width) {
    await page.setViewportSize({ width, height: HEIGHT });
  }
  const foreignRequests: string[] = [];
  const errors: string[] = [];
  const underWay = new Set<Request>();
  const refusable = new WeakSet<Request>();

  // The context's requests include requests of workers.
  context.on("request", (request) => {
    if (request.method() !== "GET") {
      underWay.add(request);
    }
    const { protocol, origin } = new URL(request.url());
    if (protocol.startsWith("http") && origin !== url) {
      foreignRequests.push(request.url());
    }
  });
  context.on("requestfailed", (request) => {
    underWay.delete(request);
  });
  context.on("response", (response) => {
    const request = response.request();
    underWay.delete(request);
    // A request under way while its session ends is refused, and the page sends it again without a token.
    if (endsSession(request) && response.ok()) {
      underWay.forEach((other) => refusable.add(other));
    }
    const isExpected =
      expectedStatuses.includes(response.status()) || (response.status() === 401 && refusable.has(request));
    if (response.status() >= 400 && !isExpected) {
      errors.push(`${response.status()} ${response.url()} ${request.postData() ?? ""}`);
    }
  });
  page.on("console", (message) => {
    // Each answer is looked at above.
    if (message.type() === "error" && !message.text().startsWith(REFUSED_IN_CONSOLE)) {
      errors.push(message.text());
    }
  });
  page.on("pageerror", (error) => errors.push(String(error)));

  await watch?.(page);
  await page.goto(new URL(path, url).href);
  await applicationStarted(page);
  return { page, conduct: { foreignRequests, errors } };
}

async function newPage(browser: Browser): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1440, height: HEIGHT } });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  // A violation of the content security policy is an error, whether the browser says so or not.
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI, sourceFile }) => {
      console.error(`forbidden by ${effectiveDirective}: ${blockedURI} in ${sourceFile}`);
    });
  });
  return page;
}

/** Leaves a page to the next test in this browser, without a trace of this one. */
export async function leave(page: Page): Promise<void> {
  const context = page.context();
  const { origin } = new URL(page.url());
  const browser = context.browser();
  if (browser === null || context.pages().length > 1 || !origin.startsWith("http")) {
    await context.close();
    return;
  }
  // Playwright has listeners of its own for other events.
  for (const event of WATCHED_EVENTS) {
    page.removeAllListeners(event);
    context.removeAllListeners(event);
  }
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await page.emulateMedia({ media: null, colorScheme: null, reducedMotion: null });
  // A page of this origin keeps the process, and ends the application before its data is removed.
  await page.goto(new URL("/robots.txt", origin).href);
  await page.evaluate(() => {
    sessionStorage.clear();
  });
  await context.clearCookies();
  const devtools = await context.newCDPSession(page);
  await devtools.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
  await devtools.detach();
  const left = leftPages.get(browser) ?? new Map<string, Page[]>();
  leftPages.set(browser, left);
  left.set(origin, [...(left.get(origin) ?? []), page]);
}

/** Waits until the application has taken the page over: before that, links lead to pages from the server. */
export async function applicationStarted(page: Page): Promise<void> {
  // The build has no link to the content: its page has nothing before it that could be skipped.
  await page.waitForFunction(
    () => document.querySelector("#app") === null || document.querySelector("a.skip") !== null,
  );
}

function endsSession(request: Request): boolean {
  const isSignOut = request.method() === "DELETE" && new URL(request.url()).pathname.startsWith("/session");
  return isSignOut || (request.method() === "POST" && ENDS_SESSION.test(request.postData() ?? ""));
}

/**
 * Waits until the server has begun a subscription of a page to events of this name: it answers a ping behind
 * it no earlier. The page shows its text before that.
 */
export function subscription(event: string): { watch: (page: Page) => Promise<void>; begun: Promise<void> } {
  let resolve: () => void = () => undefined;
  const begun = new Promise<void>((done) => {
    resolve = done;
  });
  const watch = (page: Page): Promise<void> =>
    page.routeWebSocket(/\/graphql$/, (socket) => {
      const server = socket.connectToServer();
      socket.onMessage((message) => {
        server.send(message);
        if (String(message).includes(event)) {
          server.send(JSON.stringify({ type: "ping" }));
        }
      });
      server.onMessage((message) => {
        // Pages send no ping of their own.
        if (String(message).includes('"type":"pong"')) {
          resolve();
        } else {
          socket.send(message);
        }
      });
    });
  return { watch, begun };
}
