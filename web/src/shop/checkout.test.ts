import { expect, test } from "vitest";
import { orderNumber, pathOfStep, signInPathOf, stepOf } from "./checkout.js";

test("a step comes back from its path", () => {
  for (const step of ["cart", "address", "review"] as const) {
    expect(stepOf(new URL(pathOfStep(step), "http://shop").searchParams)).toBe(step);
  }
  expect(stepOf(new URLSearchParams("step=constructor"))).toBe("cart");
});

test("signing in leads back to the step", () => {
  expect(signInPathOf("review")).toBe("/shop/signin?next=%2Fshop%2Fcart%3Fstep%3Dreview");
});

test("the number of an order is short, and always the same for one order", () => {
  expect(orderNumber("TwGMx3hQ")).toMatch(/^[0-9A-F]{4}-[0-9A-F]{4}$/);
  expect(orderNumber("TwGMx3hQ")).toBe(orderNumber("TwGMx3hQ"));
  expect(orderNumber("TwGMx3hQ")).not.toBe(orderNumber("TwGMx3hR"));
});
