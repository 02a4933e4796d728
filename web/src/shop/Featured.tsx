import type { ReactNode } from "react";
import { useQuery } from "urql";
import { chosenOfDay } from "./picks-of-day.js";
import { listIn } from "./product-list.js";
import { ProductGrid, ProductItems, SkeletonProducts } from "./ProductGrid.js";
import { ProductsDocument } from "./products.generated.js";

/** The number of categories of which products are shown. */
const CATEGORIES = 4;
/** The number of products of each of them. */
const PRODUCTS = 2;

/** Products of some categories, which change from day to day. */
export function Featured({ categories }: { categories: readonly { id: string }[] }) {
  return (
    <Section>
      {chosenOfDay(categories, CATEGORIES, new Date()).map(({ id }) => (
        <Picks key={id} categoryId={id} />
      ))}
    </Section>
  );
}

/** The shape of the section, until the categories are known. */
export function FeaturedSkeleton() {
  return (
    <div className="catalogue">
      <Section>
        <SkeletonProducts products={CATEGORIES * PRODUCTS} />
      </Section>
    </div>
  );
}

function Section({ children }: { children: ReactNode }) {
  return (
    <section>
      <h2>Picks of the day</h2>
      <ProductGrid label="Picks of the day">{children}</ProductGrid>
    </section>
  );
}

function Picks({ categoryId }: { categoryId: string }) {
  const [{ data, fetching }] = useQuery({
    query: ProductsDocument,
    variables: { id: categoryId, first: PRODUCTS },
  });
  const list = listIn(data, "category");
  return list === null ? (
    fetching && <SkeletonProducts products={PRODUCTS} />
  ) : (
    <ProductItems products={list.products.nodes} heading="h3" />
  );
}
