import { ProductsPage } from "./ProductsPage.js";

/** A tag and the products that have it. */
export default function TagPage({ params: { id = "" } }: { params: Readonly<Record<string, string | undefined>> }) {
  return <ProductsPage id={id} of="tag" />;
}
