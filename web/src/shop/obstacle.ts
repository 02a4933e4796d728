/** Whether the lines of a cart can be ordered together, and for how much. */
import type { Cart } from "./cart.js";
import { sumOf, timesQuantity, type Money } from "./money.js";

/** The total of the products that can be ordered; null where they have more than one currency. */
export function totalOf({ lines }: Cart): Money | null {
  const sold = lines.filter(({ unavailability }) => unavailability === undefined);
  return sumOf(sold.map(({ product, quantity }) => timesQuantity(product.price, quantity)));
}

/** Why these lines cannot be ordered; null where they can. */
export function obstacleOf(cart: Cart): string | null {
  if (cart.lines.some(({ unavailability }) => unavailability !== undefined)) {
    return "Remove the products that are not available.";
  }
  return totalOf(cart) === null ? "All products of an order must have the same currency." : null;
}
