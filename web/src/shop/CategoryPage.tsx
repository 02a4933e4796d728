import { ProductsPage } from "./ProductsPage.js";

/** A category and its products. */
export default function CategoryPage({
  params: { id = "" },
}: {
  params: Readonly<Record<string, string | undefined>>;
}) {
  return <ProductsPage id={id} of="category" />;
}
