import { Link } from "wouter";
import { preloadRoute } from "../app/routes.js";
import { ProductPicture } from "./ProductPicture.js";
import { formatMoney } from "./money.js";
import type { ProductCardFragment } from "./ProductCard.generated.js";
import { QuickAdd } from "./QuickAdd.js";

/** A product in short form, as every list shows it. */
export function ProductCard({
  product,
  heading: Heading = "h2",
}: {
  product: ProductCardFragment;
  heading?: "h2" | "h3";
}) {
  const { id, name, price, isSoldOut, category } = product;
  const path = `/shop/product/${id}`;
  const preload = (): void => {
    void preloadRoute(path);
  };
  return (
    <article className="product-card">
      <ProductPicture name={name} category={category.name} />
      <Heading dir="auto">
        <Link href={path} onPointerEnter={preload} onFocus={preload}>
          {name}
        </Link>
      </Heading>
      <p className="price">{formatMoney(price)}</p>
      {isSoldOut ? (
        <div className="quick-add">
          <p className="sold-out">Sold out</p>
        </div>
      ) : (
        <QuickAdd product={product} />
      )}
    </article>
  );
}
