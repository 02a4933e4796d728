import { beforeEach, describe, expect, test } from "vitest";
import {
  currentCart,
  emptyCart,
  LINES_MAX,
  parseCart,
  parseQuantity,
  piecesIn,
  QUANTITY_MAX,
  removeOrdered,
  renewKey,
  storeCart,
  withAdded,
  withoutProduct,
  withQuantity,
  withSeen,
  type Cart,
  type SeenProduct,
} from "./cart.js";

const STORED = "onehop:cart";

function product(id: string, amount = "1.00"): SeenProduct {
  return { id, name: id, price: { amount, currencyCode: "EUR" } };
}

function cartOf(...products: [id: string, quantity: number][]): Cart {
  return products.reduce<Cart>((cart, [id, quantity]) => {
    const change = withAdded(cart, product(id), quantity);
    expect(change.refusal).toBeUndefined();
    return change.cart ?? cart;
  }, emptyCart());
}

beforeEach(() => {
  localStorage.clear();
});

describe("a cart", () => {
  test("has one line for each product, whose quantities add up", () => {
    const cart = cartOf(["bell", 2], ["lamp", 1], ["bell", 3]);
    expect(cart.lines.map((line) => [line.product.id, line.quantity])).toEqual([
      ["bell", 5],
      ["lamp", 1],
    ]);
    expect(piecesIn(cart)).toBe(6);
    expect(withoutProduct(withQuantity(cart, "lamp", 7), "bell").lines).toHaveLength(1);
  });

  test("takes no more lines and pieces than an order may have", () => {
    const full = cartOf(...Array.from({ length: LINES_MAX }, (_, index): [string, number] => [`p${index}`, 1]));
    expect(withAdded(full, product("one more"), 1).refusal).toBe("An order can have at most 100 products.");
    expect(withAdded(full, product("p0"), 1).cart?.lines[0]?.quantity).toBe(2);
    expect(withAdded(full, product("p0"), QUANTITY_MAX).refusal).toBe("You can order at most 1,000 of one product.");
    expect(withQuantity(full, "p0", QUANTITY_MAX + 1)).toBe(full);
    expect(withQuantity(full, "p0", 0)).toBe(full);
  });

  test.each([
    ["1", 1],
    [" 1000 ", 1000],
    ["0", null],
    ["1001", null],
    ["1.5", null],
    ["-1", null],
    ["1e2", null],
    ["", null],
  ])("a typed quantity of %j is %j", (text, quantity) => {
    expect(parseQuantity(text)).toBe(quantity);
  });
});

describe("the idempotency key of an order", () => {
  test("stays across a reload, and while only names and prices change", () => {
    const cart = cartOf(["bell", 1]);
    storeCart(cart);
    expect(currentCart().idempotencyKey).toBe(cart.idempotencyKey);
    const seen = withSeen(cart, "bell", product("bell", "2.00"));
    expect(seen.lines[0]?.product.price.amount).toBe("2.00");
    expect(seen.idempotencyKey).toBe(cart.idempotencyKey);
    const gone = withSeen(seen, "bell", null);
    expect(gone.lines[0]).toMatchObject({ unavailability: "gone", product: product("bell", "2.00") });
    expect(gone.idempotencyKey).toBe(cart.idempotencyKey);
    expect(withSeen(gone, "bell", null)).toBe(gone);
    const soldOut = withSeen(gone, "bell", product("bell", "2.00"), true);
    storeCart(soldOut);
    expect(currentCart().lines[0]).toMatchObject({ unavailability: "sold out", product: product("bell", "2.00") });
    expect(currentCart().idempotencyKey).toBe(cart.idempotencyKey);
    expect(withSeen(soldOut, "bell", product("bell", "2.00")).lines[0]?.unavailability).toBeUndefined();
  });

  test("keeps the price at which a product came in, until it is the price again", () => {
    const cart = cartOf(["bell", 1]);
    const dearer = withSeen(withSeen(cart, "bell", product("bell", "2.00")), "bell", product("bell", "3.00"));
    expect(dearer.lines[0]?.formerPrice?.amount).toBe("1.00");
    storeCart(dearer);
    expect(currentCart().lines[0]?.formerPrice?.amount).toBe("1.00");
    expect(withSeen(dearer, "bell", product("bell", "1.0")).lines[0]?.formerPrice).toBeUndefined();
    expect(withQuantity(dearer, "bell", 4).lines[0]?.formerPrice?.amount).toBe("1.00");
  });

  test("is another with other lines or quantities", () => {
    const cart = cartOf(["bell", 1], ["lamp", 1]);
    const others = [
      withQuantity(cart, "bell", 2),
      withoutProduct(cart, "lamp"),
      withAdded(cart, product("pump"), 1).cart,
      emptyCart(),
    ];
    expect(new Set([cart, ...others].map((each) => each?.idempotencyKey)).size).toBe(5);
    expect(withQuantity(cart, "bell", 1)).toBe(cart);
  });

  test("empties the cart that was ordered, and no other", () => {
    const cart = cartOf(["bell", 1]);
    storeCart(cart);
    removeOrdered("another");
    expect(currentCart().lines).toHaveLength(1);
    removeOrdered(cart.idempotencyKey);
    expect(currentCart().lines).toEqual([]);
    expect(localStorage.getItem(STORED)).toBeNull();
    expect(currentCart().idempotencyKey).not.toBe(cart.idempotencyKey);
  });

  test("is renewed where the first order is gone, with the same lines", () => {
    const cart = cartOf(["bell", 1]);
    storeCart(cart);
    renewKey(cart.idempotencyKey);
    expect(currentCart().lines).toEqual(cart.lines);
    expect(currentCart().idempotencyKey).not.toBe(cart.idempotencyKey);
  });
});

describe("a stored cart", () => {
  test("that another tab changed is read again", () => {
    storeCart(cartOf(["bell", 1]));
    const other = cartOf(["lamp", 2]);
    localStorage.setItem(STORED, JSON.stringify(other));
    expect(currentCart()).toEqual(other);
    expect(currentCart()).toBe(currentCart());
  });

  test.each([
    null,
    "{",
    "null",
    '{"lines":[],"idempotencyKey":""}',
    '{"lines":[{"product":{"id":"a","name":"a","price":{"amount":"x","currencyCode":"EUR"}},"quantity":1}],"idempotencyKey":"k"}',
    '{"lines":[{"product":{"id":"a","name":"a","price":{"amount":"1","currencyCode":"EUR"}},"quantity":0}],"idempotencyKey":"k"}',
    '{"lines":[{"product":{"id":"a","name":"a","price":{"amount":"1","currencyCode":"EUR"}},"quantity":1,"unavailability":"toString"}],"idempotencyKey":"k"}',
  ])("as %j is none", (text) => {
    expect(parseCart(text)).toBeNull();
  });
});
