/** The steps of the checkout. The page's URL names the step, so a reload and the back button keep it. */

import { hashOf } from "../ui/seeded.js";

export const STEPS = { cart: "Cart", address: "Delivery", review: "Review" } as const;

export type Step = keyof typeof STEPS;

const CART_PATH = "/shop/cart";

/** The step that the query string of an address names. */
export function stepOf(search: URLSearchParams): Step {
  const step = search.get("step");
  return step === "address" || step === "review" ? step : "cart";
}

export function pathOfStep(step: Step): string {
  return step === "cart" ? CART_PATH : `${CART_PATH}?step=${step}`;
}

/** The way to a step by signing in first. */
export function signInPathOf(step: Step): string {
  return `/shop/signin?next=${encodeURIComponent(pathOfStep(step))}`;
}

/** The page of an order. */
export function pathOfOrder(id: string): string {
  return `/shop/orders?order=${encodeURIComponent(id)}`;
}

/** The number of an order, as customers read it out: `3F0A-91BC`. It follows from the id. */
export function orderNumber(id: string): string {
  const digits = hashOf(id).toString(16).padStart(8, "0").toUpperCase();
  return `${digits.slice(0, 4)}-${digits.slice(4)}`;
}
