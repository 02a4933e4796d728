import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

const STORED = "onehop:show-costs";

/** The module as a page that is opened now has it. */
async function opened() {
  vi.resetModules();
  return import("./shown-costs.js");
}

beforeEach(() => {
  localStorage.clear();
});

afterEach(() => {
  vi.restoreAllMocks();
});

describe("costs, until a visitor chooses,", () => {
  test.each(["/", "/posts/p1", "/write", "/users/u1", "/shop", "/shop/cart", "/shop/ranking", "/nowhere"])(
    "are not shown at %s",
    async (pathname) => {
      expect((await opened()).areCostsShown(pathname)).toBe(false);
    },
  );

  test.each(["/compare", "/operations", "/graphiql"])("are shown at %s", async (pathname) => {
    expect((await opened()).areCostsShown(pathname)).toBe(true);
  });
});

describe("the choice of a visitor", () => {
  test.each([true, false])("to show costs (%s) is that of all pages, and of later visits", async (isShown) => {
    (await opened()).showCosts(isShown);
    const { areCostsShown } = await opened();
    expect(["/", "/shop", "/compare", "/operations"].map(areCostsShown)).toEqual([isShown, isShown, isShown, isShown]);
  });

  test("reaches other tabs that are open", async () => {
    const { areCostsShown, onCostsChoice } = await opened();
    const listener = vi.fn();
    const stop = onCostsChoice(listener);
    localStorage.setItem(STORED, "yes");
    dispatchEvent(new StorageEvent("storage", { key: STORED, newValue: "yes" }));
    expect(areCostsShown("/")).toBe(true);
    expect(listener).toHaveBeenCalledOnce();
    localStorage.clear();
    dispatchEvent(new StorageEvent("storage", { key: null }));
    expect(areCostsShown("/")).toBe(false);
    dispatchEvent(new StorageEvent("storage", { key: "onehop:cart" }));
    expect(listener).toHaveBeenCalledTimes(2);
    stop();
  });

  test("holds for the page where the browser cannot store it", async () => {
    const { areCostsShown, showCosts } = await opened();
    vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
      throw new DOMException("full", "QuotaExceededError");
    });
    showCosts(true);
    expect(areCostsShown("/")).toBe(true);
  });

  test("is not read from anything else", async () => {
    localStorage.setItem(STORED, "perhaps");
    const { areCostsShown } = await opened();
    expect(areCostsShown("/")).toBe(false);
    expect(areCostsShown("/compare")).toBe(true);
  });
});
