import { beforeEach, describe, expect, test, vi } from "vitest";
import type * as Sessions from "./customer-session.js";

// The pages' client opens a live connection, which these tests have no use for.
vi.mock("../api/client.js", () => ({ createClient: (identity: unknown) => identity }));

const STORED = "onehop:customer";
const customer = { id: "c1", firstName: "Eva", lastName: "Stone" };

/** The module as a tab has it that is opened now. */
async function open(): Promise<typeof Sessions> {
  vi.resetModules();
  return import("./customer-session.js");
}

beforeEach(() => {
  sessionStorage.clear();
});

describe("the session of a customer", () => {
  test("outlives a reload, and ends with signing out", async () => {
    const before = await open();
    before.startCustomerSession({ customer, accessToken: "t1" });
    const after = await open();
    expect(after.currentCustomerSession()).toEqual({ customer, accessToken: "t1", hasEnded: false });
    after.endCustomerSession();
    expect(after.currentCustomerSession()).toBeNull();
    expect(sessionStorage.getItem(STORED)).toBeNull();
  });

  test("ends where the server refuses its token, and the customer stays known", async () => {
    const tab = await open();
    tab.startCustomerSession({ customer, accessToken: "t1" });
    const identity = tab.identityOf(tab.currentCustomerSession());
    expect(await identity.accessToken()).toBe("t1");
    expect(await identity.accessTokenAfter("t1")).toBeNull();
    expect(tab.currentCustomerSession()).toMatchObject({ customer, hasEnded: true });
    expect(await tab.identityOf(tab.currentCustomerSession()).accessToken()).toBeNull();
  });

  test("is not ended by what was sent for an earlier one", async () => {
    const tab = await open();
    tab.startCustomerSession({ customer, accessToken: "t1" });
    const earlier = tab.identityOf(tab.currentCustomerSession());
    tab.startCustomerSession({ customer: { ...customer, id: "c2" }, accessToken: "t2" });
    await earlier.accessTokenAfter("t1");
    expect(tab.currentCustomerSession()).toMatchObject({ customer: { id: "c2" }, hasEnded: false });
  });

  test.each(["{", "null", '{"customer":{"id":"c1"},"accessToken":"t","hasEnded":false}', '{"accessToken":"t"}'])(
    "stored as %j is none",
    async (text) => {
      sessionStorage.setItem(STORED, text);
      expect((await open()).currentCustomerSession()).toBeNull();
    },
  );
});
