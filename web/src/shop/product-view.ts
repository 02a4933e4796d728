/**
 * Views of a product list: sort order and filter. They live in the address of the page, so that they outlive
 * a reload and the back button. Only a list that is whole on the page has them.
 */
import { compareMoney } from "./money.js";
import type { ProductCardFragment } from "./ProductCard.generated.js";

export const SORT_ORDERS = {
  name: "Name",
  newest: "Newest",
  "price-up": "Price, low to high",
  "price-down": "Price, high to low",
} as const;

export type SortOrder = keyof typeof SORT_ORDERS;

export interface ProductView {
  sort: SortOrder;
  /** The id of a tag or category; null for all products. */
  filter: string | null;
}

/** A choice of a filter, with the number of products behind it. */
export interface FilterChoice {
  id: string;
  name: string;
  count: number;
}

/** The view that the query string of an address names. */
export function viewOf(search: URLSearchParams): ProductView {
  const sort = search.get("sort") ?? "name";
  return { sort: Object.hasOwn(SORT_ORDERS, sort) ? (sort as SortOrder) : "name", filter: search.get("filter") };
}

/** The query string of a view, without its defaults. */
export function searchOf({ sort, filter }: ProductView): URLSearchParams {
  const search = new URLSearchParams();
  if (sort !== "name") {
    search.set("sort", sort);
  }
  if (filter !== null) {
    search.set("filter", filter);
  }
  return search;
}

/** The products of a view. The list comes sorted by name. */
export function viewed(products: readonly ProductCardFragment[], { sort, filter }: ProductView): ProductCardFragment[] {
  const kept = products.filter((product) => filter === null || marksOf(product).some(({ id }) => id === filter));
  if (sort === "name") {
    return kept;
  }
  if (sort === "newest") {
    return kept.sort((a, b) => (b.creationDate ?? "").localeCompare(a.creationDate ?? ""));
  }
  const sign = sort === "price-up" ? 1 : -1;
  return kept.sort((a, b) => sign * compareMoney(a.price, b.price));
}

/** Products behind a filter, at least: the one product with a tag is found as fast without it. */
const FILTER_PRODUCTS_MIN = 2;

/** The tags and categories by which a list can be filtered; without those of every product. */
export function filterChoices(products: readonly ProductCardFragment[]): FilterChoice[] {
  const choices = new Map<string, FilterChoice>();
  for (const { id, name } of products.flatMap(marksOf)) {
    choices.set(id, { id, name, count: (choices.get(id)?.count ?? 0) + 1 });
  }
  return [...choices.values()]
    .filter(({ count }) => count >= FILTER_PRODUCTS_MIN && count < products.length)
    .sort((a, b) => a.name.localeCompare(b.name, "en"));
}

function marksOf({ category, tags }: ProductCardFragment): { id: string; name: string }[] {
  return [category, ...tags];
}
