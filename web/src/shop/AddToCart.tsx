import { useState } from "react";
import { Link } from "wouter";
import { TextField } from "../ui/Field.js";
import { parseQuantity, QUANTITY_MAX, type SeenProduct } from "./cart.js";
import { useAddToCart } from "./use-add-to-cart.js";

/** Puts some of a product into the cart. */
export function AddToCart({ product }: { product: SeenProduct }) {
  const [text, setText] = useState("1");
  const [hasAdded, setHasAdded] = useState(false);
  const { add, inCart, error } = useAddToCart(product);
  return (
    <form
      className="add-to-cart"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        add(parseQuantity(text));
        setHasAdded(true);
      }}
    >
      <TextField
        label="Quantity"
        type="number"
        inputMode="numeric"
        min={1}
        max={QUANTITY_MAX}
        value={text}
        error={error}
        onText={setText}
      />
      <button type="submit" className="button">
        Add to cart
      </button>
      <p className="add-to-cart-done" role="status">
        {hasAdded && inCart > 0 && error === undefined && (
          <>
            Added to cart{inCart > 1 && `: ${inCart.toLocaleString("en")} in all`}.{" "}
            <Link href="/shop/cart">View cart</Link>
          </>
        )}
      </p>
    </form>
  );
}
