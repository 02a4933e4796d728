import { Link } from "wouter";
import { preloadRoute } from "../app/routes.js";
import { formatMoney } from "./money.js";
import type { ProductCardFragment } from "./ProductCard.generated.js";
import { TagLinks } from "./TagLinks.js";

/** A product in short form, as every list shows it. */
export function ProductCard({ product: { id, name, sku, price, tags } }: { product: ProductCardFragment }) {
  const path = `/shop/product/${id}`;
  const preload = (): void => {
    preloadRoute(path);
  };
  return (
    <article className="product-card">
      <h2 dir="auto">
        <Link href={path} onPointerEnter={preload} onFocus={preload}>
          {name}
        </Link>
      </h2>
      <p className="price">{formatMoney(price)}</p>
      <p className="product-sku">{sku}</p>
      <TagLinks tags={tags} />
    </article>
  );
}
