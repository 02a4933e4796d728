import type { ReactNode } from "react";
import { ProductCard } from "./ProductCard.js";
import type { ProductCardFragment } from "./ProductCard.generated.js";

/** Products as cards, in as many columns as there is room for. */
export function ProductGrid({ children, label }: { children: ReactNode; label: string }) {
  return (
    <ul className="product-grid" aria-label={label}>
      {children}
    </ul>
  );
}

/** Cards of a grid. */
export function ProductItems({
  products,
  heading = "h2",
}: {
  products: readonly ProductCardFragment[];
  heading?: "h2" | "h3";
}) {
  return products.map((product) => (
    <li key={product.id}>
      <ProductCard product={product} heading={heading} />
    </li>
  ));
}

/** The shapes of products that are on their way. */
export function SkeletonProducts({ products }: { products: number }) {
  return Array.from({ length: products }, (_, index) => (
    <li key={index} className="skeleton skeleton-product" aria-hidden="true">
      <span />
      <span />
      <span />
    </li>
  ));
}
