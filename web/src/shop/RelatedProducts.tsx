import { useQuery } from "urql";
import { ProductGrid, ProductItems, SkeletonProducts } from "./ProductGrid.js";
import { ProductsDocument } from "./products.generated.js";

/** The most related products that a page shows. */
const RELATED_MAX = 4;
/** Read from the list, which has the product itself. */
const READ_PRODUCTS = RELATED_MAX + 1;

interface Named {
  id: string;
  name: string;
}

/** Products with the first tag of a product; without tags, products of its category. */
export function RelatedProducts({
  productId,
  category,
  tags,
}: {
  productId: string;
  category: Named;
  tags: readonly Named[];
}) {
  const source = tags[0] ?? category;
  const [{ data, fetching }] = useQuery({
    query: ProductsDocument,
    variables: { id: source.id, first: READ_PRODUCTS },
  });
  const node = data?.node;
  const listed = node != null && "products" in node ? node.products.nodes : [];
  const related = listed.filter(({ id }) => id !== productId).slice(0, RELATED_MAX);
  if (!fetching && related.length === 0) {
    return null;
  }
  return (
    <section className="related">
      <h2>You may also like</h2>
      <ProductGrid label="You may also like">
        {data === undefined ? (
          <SkeletonProducts products={RELATED_MAX} />
        ) : (
          <ProductItems products={related} heading="h3" />
        )}
      </ProductGrid>
    </section>
  );
}
