import { beforeEach, describe, expect, test, vi } from "vitest";
import type * as Sessions from "./customer-session.js";

// The pages' client opens a live connection, which these tests have no use for.
vi.mock("../api/client.js", () => ({ createClient: (identity: unknown) => identity }));

const STORED = "onehop:customer-session";
const eva = { id: "c1", firstName: "Eva", lastName: "Stone" };
const signedIn = { customer: eva, accessToken: "t1", expiresAt: new Date(Date.now() + 3_600_000).toISOString() };

/** The requests to the server, and its answers. */
let sent: string[];
let answers: (() => Response)[];

/** The module as a tab has it that is opened now. */
async function open(): Promise<typeof Sessions> {
  vi.resetModules();
  return import("./customer-session.js");
}

function renewal(accessToken: string, customer = eva): () => Response {
  return () => Response.json({ accessToken, expiresIn: 3600, customer });
}

const ended = (): Response => new Response(null, { status: 204 });

beforeEach(() => {
  localStorage.clear();
  sessionStorage.clear();
  sent = [];
  answers = [];
  vi.stubGlobal("fetch", (url: string, { method }: { method: string }) => {
    sent.push(`${method} ${url}`);
    const answer = answers.shift();
    return answer === undefined ? Promise.reject(new TypeError("offline")) : Promise.resolve(answer());
  });
});

describe("the session of a customer", () => {
  test("is known to a reloaded page and to another tab, which renew it", async () => {
    const before = await open();
    before.startCustomerSession(signedIn);
    const after = await open();
    expect(after.currentCustomerSession()).toEqual({ customer: eva, hasEnded: false });
    answers = [renewal("t2")];
    expect(await after.customerIdentity.accessToken()).toBe("t2");
    expect(sent).toEqual(["POST /session/customer"]);
  });

  test("leaves no token in the browser's storage, and removes an older page's", async () => {
    sessionStorage.setItem("onehop:customer", JSON.stringify({ customer: eva, accessToken: "old", hasEnded: false }));
    const tab = await open();
    expect(tab.currentCustomerSession()).toBeNull();
    tab.startCustomerSession({ ...signedIn, accessToken: "secret" });
    const stored = JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)]);
    expect(stored).not.toMatch(/secret|old/);
  });

  test("ends in this tab and, by what it stores, in all others", async () => {
    const tab = await open();
    tab.startCustomerSession(signedIn);
    localStorage.removeItem(STORED);
    dispatchEvent(new StorageEvent("storage", { key: STORED }));
    expect(tab.currentCustomerSession()).toBeNull();
    expect(await tab.customerIdentity.accessToken()).toBeNull();

    tab.startCustomerSession(signedIn);
    answers = [ended];
    tab.endCustomerSession();
    await vi.waitFor(() => {
      expect(localStorage).toHaveLength(0);
    });
    expect(sent).toEqual(["DELETE /session/customer"]);
  });

  test("ends where the server refuses to renew it, and the customer stays known", async () => {
    const tab = await open();
    tab.startCustomerSession(signedIn);
    answers = [ended];
    expect(await tab.customerIdentity.accessTokenAfter("t1")).toBeNull();
    expect(tab.currentCustomerSession()).toEqual({ customer: eva, hasEnded: true });
    expect(await tab.customerIdentity.accessToken()).toBeNull();
  });

  test("that a mutation found missing is asked for again", async () => {
    const tab = await open();
    tab.startCustomerSession(signedIn);
    answers = [ended];
    tab.customerIdentity.signInNeeded();
    await vi.waitFor(() => {
      expect(tab.currentCustomerSession()?.hasEnded).toBe(true);
    });
  });

  test("is apart from the session of the blog's user", async () => {
    localStorage.setItem("onehop:session", JSON.stringify({ user: { id: "u1", username: "ada" } }));
    expect((await open()).currentCustomerSession()).toBeNull();
  });

  test.each(["{", "null", "{}", '{"customer":{"id":"c1"}}', '{"customer":null}'])(
    "stored as %j is none",
    async (text) => {
      localStorage.setItem(STORED, text);
      expect((await open()).currentCustomerSession()).toBeNull();
    },
  );
});
