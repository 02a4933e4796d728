import { useState } from "react";
import { currentCart, QUANTITY_RULE, storeCart, useCart, withAdded, type SeenProduct } from "./cart.js";

/** Adding a product to the cart, with its quantity there in every tab. */
export function useAddToCart({ id, name, price: { amount, currencyCode } }: SeenProduct): {
  /** Adds some; null is an invalid quantity. */
  add: (quantity: number | null) => void;
  inCart: number;
  error: string | undefined;
} {
  const [error, setError] = useState<string>();
  const inCart = useCart().lines.find(({ product }) => product.id === id)?.quantity ?? 0;
  return {
    inCart,
    error,
    add(quantity) {
      const change =
        quantity === null
          ? { refusal: QUANTITY_RULE }
          : withAdded(currentCart(), { id, name, price: { amount, currencyCode } }, quantity);
      setError(change.refusal);
      if (change.refusal === undefined) {
        storeCart(change.cart);
      }
    },
  };
}
