import { chromium, type Browser, type Page, type Request } from "playwright-core";
import { workerUrl } from "../worker.js";

/** The first words of the browser's message about an answer with an error status. */
const REFUSED_IN_CONSOLE = "Failed to load resource: the server responded with a status of";
/** Mutations that end the session, or replace it by another one. */
const ENDS_SESSION = /mutation (?:Change(?:Customer)?Password|SignOutCustomerEverywhere|DeleteUser)\b/;

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
  scriptBytes: () => Promise<number>;
}

export interface OpenOptions {
  /** The URL of the server; by default the server that all tests share. */
  url?: string;
  /** Answers that are refusals on purpose, by their status. */
  expectedStatuses?: readonly number[];
  width?: number;
  /** Observes the page from before its first request. */
  watch?: (page: Page) => void;
}

/** A page in a browser context of its own, watched from before its first request. */
export async function openPage(
  browser: Browser,
  path: string,
  { url = baseUrl, expectedStatuses = [], width = 1440, watch }: OpenOptions = {},
): Promise<{ page: Page; conduct: Conduct }> {
  const context = await browser.newContext({ viewport: { width, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const foreignRequests: string[] = [];
  const errors: string[] = [];
  const scripts: Promise<number>[] = [];
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
    if (request.resourceType() === "script") {
      // A body that is still on its way when the page closes needs no error any more.
      scripts.push(
        response.body().then(
          (body) => body.length,
          () => 0,
        ),
      );
    }
  });
  page.on("console", (message) => {
    // Each answer is looked at above.
    if (message.type() === "error" && !message.text().startsWith(REFUSED_IN_CONSOLE)) {
      errors.push(message.text());
    }
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  // A violation of the content security policy is an error, whether the browser says so or not.
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI, sourceFile }) => {
      console.error(`forbidden by ${effectiveDirective}: ${blockedURI} in ${sourceFile}`);
    });
  });

  watch?.(page);
  await page.goto(new URL(path, url).href);
  await applicationStarted(page);
  const scriptBytes = async (): Promise<number> => (await Promise.all(scripts)).reduce((sum, bytes) => sum + bytes, 0);
  return { page, conduct: { foreignRequests, errors, scriptBytes } };
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

/** Waits until a page has subscribed to events of this name. The page shows its text before that. */
export function subscription(event: string): { watch: (page: Page) => void; begun: Promise<void> } {
  let resolve: () => void = () => undefined;
  const begun = new Promise<void>((done) => {
    resolve = done;
  });
  const watch = (page: Page): void => {
    page.on("websocket", (socket) => {
      socket.on("framesent", ({ payload }) => {
        if (String(payload).includes(event)) {
          resolve();
        }
      });
    });
  };
  return { watch, begun };
}
