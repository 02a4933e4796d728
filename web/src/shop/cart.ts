/**
 * The cart: a visitor's next order, kept on this device across reloads and tabs until the order is answered.
 * It belongs to the browser and not to a customer. Pure functions come first, the stored cart at the end.
 */
import { useSyncExternalStore } from "react";
import { randomKey } from "../ui/random-key.js";
import { compareMoney, isAmount, type Money } from "./money.js";

/** The most lines of an order that the server accepts. */
export const LINES_MAX = 100;
/** The most of one product in one line that the server accepts. */
export const QUANTITY_MAX = 1_000;
/** The rule of a quantity, in words. */
export const QUANTITY_RULE = `Enter a whole number from 1 to ${QUANTITY_MAX.toLocaleString("en")}.`;

/** A product as it was last seen: the order takes its price from the server. */
export interface SeenProduct {
  id: string;
  name: string;
  price: Money;
}

/** Unavailability of a product: withdrawn from the shop, or out of stock. */
export type Unavailability = "gone" | "sold out";

/** The words for a product that cannot be ordered. */
export const UNAVAILABILITY_TEXTS: Record<Unavailability, string> = {
  gone: "This product is no longer available.",
  "sold out": "This product is sold out.",
};

export interface CartLine {
  product: SeenProduct;
  quantity: number;
  /** Why the product cannot be ordered now. */
  unavailability?: Unavailability;
  /** The price at which the product came into the cart, where it has another one now. */
  formerPrice?: Money;
}

export interface Cart {
  lines: readonly CartLine[];
  /** Makes a repeat of the same order harmless. Other lines or quantities are another order. */
  idempotencyKey: string;
}

/** A change that was made, or why it was not. */
export type CartChange = { cart: Cart; refusal?: undefined } | { cart?: undefined; refusal: string };

export function emptyCart(): Cart {
  return { lines: [], idempotencyKey: randomKey() };
}

/** Adds some of a product, to the line that has it where there is one. */
export function withAdded(cart: Cart, product: SeenProduct, quantity: number): CartChange {
  const line = cart.lines.find((each) => each.product.id === product.id);
  if (line === undefined && cart.lines.length >= LINES_MAX) {
    return { refusal: `An order can have at most ${LINES_MAX} products.` };
  }
  const total = (line?.quantity ?? 0) + quantity;
  if (!isQuantity(total)) {
    return { refusal: `You can order at most ${QUANTITY_MAX.toLocaleString("en")} of one product.` };
  }
  const added = { product, quantity: total };
  const lines = line === undefined ? [...cart.lines, added] : cart.lines.map((each) => (each === line ? added : each));
  return { cart: changed(lines) };
}

/** Changes how much of a product is ordered. */
export function withQuantity(cart: Cart, productId: string, quantity: number): Cart {
  const line = cart.lines.find(({ product }) => product.id === productId);
  if (line === undefined || line.quantity === quantity || !isQuantity(quantity)) {
    return cart;
  }
  return changed(cart.lines.map((each) => (each === line ? { ...line, quantity } : each)));
}

/** Takes a line out. */
export function withoutProduct(cart: Cart, productId: string): Cart {
  const lines = cart.lines.filter(({ product }) => product.id !== productId);
  return lines.length === cart.lines.length ? cart : changed(lines);
}

/** Notes the server's present state of a product, or that it no longer exists. That is no other order. */
export function withSeen(cart: Cart, productId: string, seen: SeenProduct | null, isSoldOut = false): Cart {
  const line = cart.lines.find(({ product }) => product.id === productId);
  if (line === undefined) {
    return cart;
  }
  const { formerPrice = line.product.price, quantity } = line;
  const product = seen ?? line.product;
  const noted: CartLine = { product, quantity };
  if (seen === null || isSoldOut) {
    noted.unavailability = seen === null ? "gone" : "sold out";
  }
  if (!isSamePrice(formerPrice, product.price)) {
    noted.formerPrice = formerPrice;
  }
  if (JSON.stringify(noted) === JSON.stringify(line)) {
    return cart;
  }
  return { ...cart, lines: cart.lines.map((each) => (each === line ? noted : each)) };
}

/** Whether two prices are the same amount, however it is written. */
export function isSamePrice(a: Money, b: Money): boolean {
  return compareMoney(a, b) === 0;
}

/** The number of pieces, as the cart's link counts them. */
export function piecesIn({ lines }: Cart): number {
  return lines.reduce((sum, { quantity }) => sum + quantity, 0);
}

/** The typed quantity; null for a quantity that the server refuses. */
export function parseQuantity(text: string): number | null {
  const quantity = /^\d{1,6}$/.test(text.trim()) ? Number(text) : Number.NaN;
  return isQuantity(quantity) ? quantity : null;
}

/** A stored cart; null for an invalid text. */
export function parseCart(text: string | null): Cart | null {
  try {
    const { lines, idempotencyKey } = JSON.parse(text ?? "null") as Cart;
    const isCart = lines.length <= LINES_MAX && lines.every(isLine) && typeof idempotencyKey === "string";
    return isCart && idempotencyKey !== "" ? { lines, idempotencyKey } : null;
  } catch {
    return null;
  }
}

function changed(lines: readonly CartLine[]): Cart {
  return { lines, idempotencyKey: randomKey() };
}

function isQuantity(quantity: number): boolean {
  return Number.isInteger(quantity) && quantity >= 1 && quantity <= QUANTITY_MAX;
}

function isLine({ product, quantity, unavailability, formerPrice }: CartLine): boolean {
  const { id, name, price } = product;
  const isProduct = typeof id === "string" && typeof name === "string" && isPrice(price);
  const isFormer = formerPrice === undefined || isPrice(formerPrice);
  const isKnown = unavailability === undefined || Object.hasOwn(UNAVAILABILITY_TEXTS, unavailability);
  return isProduct && isFormer && isQuantity(quantity) && isKnown;
}

function isPrice({ amount, currencyCode }: Money): boolean {
  return isAmount(amount) && /^[A-Z]{3}$/.test(currencyCode);
}

const STORAGE_KEY = "onehop:cart";

const listeners = new Set<() => void>();
let stored: { text: string | null; cart: Cart } | null = null;

/** The stored cart. It is read again where another tab has changed it. */
export function currentCart(): Cart {
  const text = localStorage.getItem(STORAGE_KEY);
  if (stored?.text !== text) {
    stored = { text, cart: parseCart(text) ?? emptyCart() };
  }
  return (stored as { cart: Cart }).cart;
}

export function useCart(): Cart {
  return useSyncExternalStore(subscribe, currentCart);
}

export function storeCart(cart: Cart): void {
  if (cart === currentCart()) {
    return;
  }
  if (cart.lines.length === 0) {
    localStorage.removeItem(STORAGE_KEY);
  } else {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(cart));
  }
  listeners.forEach((listener) => {
    listener();
  });
}

/** Empties the cart of an order that was answered, unless it has become another order meanwhile. */
export function removeOrdered(idempotencyKey: string): void {
  if (currentCart().idempotencyKey === idempotencyKey) {
    storeCart(emptyCart());
  }
}

/** Makes the same lines another order: the first one, under the key until now, was deleted. */
export function renewKey(idempotencyKey: string): void {
  const cart = currentCart();
  if (cart.idempotencyKey === idempotencyKey) {
    storeCart(changed(cart.lines));
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    removeEventListener("storage", listener);
  };
}
