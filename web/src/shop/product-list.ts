/** The products of a category or tag in an answer of the server. */
import type { ProductsQuery } from "./products.generated.js";

/** Products of one page of a list: about as many as the server's limit of complexity lets a query ask for. */
export const PAGE_PRODUCTS = 60;

export type ListKind = "category" | "tag";
export type ListedNode = Extract<NonNullable<ProductsQuery["node"]>, { name: string }>;

const TYPES: Record<ListKind, ListedNode["__typename"]> = { category: "ProductCategory", tag: "ProductTag" };

/** The list in an answer; null where the node is none of this kind. */
export function listIn(data: ProductsQuery | undefined, of: ListKind): ListedNode | null {
  const node = data?.node;
  return node != null && "name" in node && node.__typename === TYPES[of] ? node : null;
}
