import { describe, expect, test } from "vitest";
import { filterChoices, searchOf, viewed, viewOf } from "./product-view.js";
import type { ProductCardFragment } from "./ProductCard.generated.js";

const bells = { __typename: "ProductCategory", id: "b", name: "Bells" } as const;
const horns = { __typename: "ProductCategory", id: "h", name: "Horns" } as const;
const calm = { __typename: "ProductTag", id: "c", name: "calm" } as const;

/** A product that is the older, the later its id is. */
function product(id: string, amount: string, category: typeof bells | typeof horns, tags: (typeof calm)[] = []) {
  const creationDate = id === "z" ? null : `2026-01-${200 - id.charCodeAt(0)}T00:00:00.000Z`;
  const price = { __typename: "Money", amount, currencyCode: "EUR" };
  return { __typename: "Product", id, name: id, price, creationDate, category, tags } as unknown as ProductCardFragment;
}

const list = [product("a", "10.00", bells, [calm]), product("b", "9.50", horns, [calm]), product("c", "100.00", bells)];

function ids(products: readonly ProductCardFragment[]): string {
  return products.map(({ id }) => id).join("");
}

describe("a view of products", () => {
  test("sorts by price as a number, in both directions", () => {
    expect(ids(viewed(list, { sort: "price-up", filter: null }))).toBe("bac");
    expect(ids(viewed(list, { sort: "price-down", filter: null }))).toBe("cab");
    expect(ids(viewed(list, { sort: "name", filter: null }))).toBe("abc");
  });

  test("sorts by creation, with products of an unknown date at the end", () => {
    expect(ids(viewed([product("z", "1.00", bells), ...list], { sort: "newest", filter: null }))).toBe("abcz");
    expect(ids(viewed([...list].reverse(), { sort: "newest", filter: null }))).toBe("abc");
    expect(viewOf(new URLSearchParams("sort=newest")).sort).toBe("newest");
  });

  test("filters by tag and by category", () => {
    expect(ids(viewed(list, { sort: "name", filter: "c" }))).toBe("ab");
    expect(ids(viewed(list, { sort: "price-down", filter: "b" }))).toBe("ca");
    expect(ids(viewed(list, { sort: "name", filter: "gone" }))).toBe("");
  });

  test("offers the filters of several products that leave something out", () => {
    expect(filterChoices(list)).toEqual([
      { id: "b", name: "Bells", count: 2 },
      { id: "c", name: "calm", count: 2 },
    ]);
    expect(filterChoices(list.slice(0, 2))).toEqual([]);
  });

  test("comes back from the address of the page", () => {
    const view = { sort: "price-down", filter: "c" } as const;
    expect(viewOf(searchOf(view))).toEqual(view);
    expect(searchOf({ sort: "name", filter: null }).toString()).toBe("");
    expect(viewOf(new URLSearchParams("sort=toString"))).toEqual({ sort: "name", filter: null });
  });
});
