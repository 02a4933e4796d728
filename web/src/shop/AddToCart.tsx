import { useState } from "react";
import { Link } from "wouter";
import { TextField } from "../ui/Field.js";
import {
  currentCart,
  parseQuantity,
  QUANTITY_MAX,
  QUANTITY_RULE,
  storeCart,
  withAdded,
  type SeenProduct,
} from "./cart.js";

/** Puts a product into the cart. */
export function AddToCart({ product: { id, name, price } }: { product: SeenProduct }) {
  const [text, setText] = useState("1");
  const [error, setError] = useState<string>();
  const [inCart, setInCart] = useState<number | null>(null);
  const add = (): void => {
    const quantity = parseQuantity(text);
    const { amount, currencyCode } = price;
    const change =
      quantity === null
        ? { refusal: QUANTITY_RULE }
        : withAdded(currentCart(), { id, name, price: { amount, currencyCode } }, quantity);
    setError(change.refusal);
    if (change.refusal === undefined) {
      storeCart(change.cart);
      setInCart(change.cart.lines.find(({ product }) => product.id === id)?.quantity ?? null);
    }
  };
  return (
    <form
      className="add-to-cart"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        add();
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
        {inCart !== null && error === undefined && (
          <>
            Added to cart{inCart > 1 && `: ${inCart.toLocaleString("en")} in all`}.{" "}
            <Link href="/shop/cart">View cart</Link>
          </>
        )}
      </p>
    </form>
  );
}
