import type { SeenProduct } from "./cart.js";
import { useAddToCart } from "./use-add-to-cart.js";

/** The button of a card: puts one of the product into the cart. */
export function QuickAdd({ product }: { product: SeenProduct }) {
  const { add, inCart, error } = useAddToCart(product);
  return (
    <div className="quick-add">
      <button
        type="button"
        className="button button-plain"
        onClick={() => {
          add(1);
        }}
      >
        Add to cart <span className="unseen">{product.name}</span>
      </button>
      <p role="status">{error ?? (inCart > 0 && `${inCart.toLocaleString("en")} in cart`)}</p>
    </div>
  );
}
