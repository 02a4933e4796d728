import { useClient } from "urql";
import { currentCart, isSamePrice, storeCart, withSeen, type Cart } from "./cart.js";
import { ProductInCartDocument } from "./cart.generated.js";

/**
 * Reads the products of a cart again, and notes their prices there. Says whether all can be ordered at the
 * prices shown; a product that cannot be read counts as unchanged, since the order itself is refused then.
 */
export function useFreshPrices(): (cart: Cart) => Promise<boolean> {
  const client = useClient();
  return async ({ lines }) => {
    const same = await Promise.all(
      lines.map(async ({ product: { id, price } }) => {
        const { data } = await client
          .query(ProductInCartDocument, { id }, { requestPolicy: "network-only" })
          .toPromise();
        if (data === undefined) {
          return true;
        }
        const { product } = data;
        storeCart(withSeen(currentCart(), id, seenIn(product), product?.isSoldOut));
        return product !== null && !product.isSoldOut && isSamePrice(product.price, price);
      }),
    );
    return same.every(Boolean);
  };
}

/** A product as the cart keeps it: without the names of types, which the cache adds. */
export function seenIn(
  product: { id: string; name: string; price: { amount: string; currencyCode: string } } | null,
): { id: string; name: string; price: { amount: string; currencyCode: string } } | null {
  if (product === null) {
    return null;
  }
  const { id, name, price } = product;
  return { id, name, price: { amount: price.amount, currencyCode: price.currencyCode } };
}
