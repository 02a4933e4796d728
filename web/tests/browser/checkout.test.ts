/**
 * The checkout: an order survives a reload, the back button, two tabs, a changed price, a product that is no
 * longer sold, a lost answer and an ended session, at each step where they can happen.
 */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { launchBrowser, leave, openPage, type Conduct } from "./browser.js";
import { freshName } from "./people.js";
import {
  addToCart,
  categories,
  fillAddress,
  goToReview,
  placeOrder,
  seller,
  signUpCustomer,
  type Category,
} from "./shop.js";

let browser: Browser;
let page: Page;
let conduct: Conduct;
let category: Category;
let staff: Awaited<ReturnType<typeof seller>>;

beforeAll(async () => {
  browser = await launchBrowser();
  const [first] = await categories();
  if (first === undefined) {
    throw new Error("The demo has no products.");
  }
  category = first;
  staff = await seller();
});

afterAll(async () => {
  await browser.close();
});

afterEach(async () => {
  expect(conduct.errors).toEqual([]);
  expect(conduct.foreignRequests).toEqual([]);
  await leave(page);
});

function heading(name: string, of = page) {
  return of.getByRole("heading", { level: 1, name, exact: true });
}

/** A new customer whose cart has some of a new product for ten cents each. */
async function cartOf(quantity: number): Promise<{ id: string; name: string }> {
  const name = `Lamp ${freshName()}`;
  const id = await staff.sell(category.id, name, "0.10");
  ({ page, conduct } = await openPage(browser, "/shop/signin"));
  await signUpCustomer(page);
  await page.goto(new URL(`/shop/product/${id}`, page.url()).href);
  await addToCart(page, quantity);
  return { id, name };
}

async function orderCount(): Promise<number> {
  await page.goto(new URL("/shop/orders", page.url()).href);
  await page.locator(".order").first().waitFor();
  return page.locator(".order").count();
}

describe("a reload", () => {
  test("keeps every step, a half-typed address, and the confirmation", async () => {
    const { name } = await cartOf(2);
    await page.reload();
    await page.getByRole("link", { name: "Check out" }).click();
    await heading("Delivery address").waitFor();
    await page.getByLabel("Street and number").fill("Half a str");
    await page.reload();
    expect(await page.getByLabel("Street and number").inputValue()).toBe("Half a str");
    await fillAddress(page);
    await page.getByRole("button", { name: "Deliver to this address" }).click();
    await heading("Review your order").waitFor();
    await page.reload();
    await page.getByText("Meadow Lane 7").waitFor();
    await placeOrder(page);
    await page.reload();
    await page.getByRole("rowheader", { name }).waitFor();
    expect(await page.locator("tfoot td").last().innerText()).toBe("€0.20");
    await page.getByText("Meadow Lane 7").waitFor();
  });
});

describe("the back button", () => {
  test("goes back step by step, and never back into an order that is placed", async () => {
    await cartOf(1);
    await goToReview(page);
    await page.goBack();
    await heading("Delivery address").waitFor();
    await page.getByText("Meadow Lane 7").waitFor();
    await page.goBack();
    await heading("Cart").waitFor();
    await page.goForward();
    await page.goForward();
    await heading("Review your order").waitFor();
    await placeOrder(page);
    await page.goBack();
    await page.getByRole("heading", { name: "Your cart is empty" }).waitFor();
    expect(await orderCount()).toBe(1);
  });
});

describe("two tabs", () => {
  test("review the same cart, and order it once", async () => {
    const { name } = await cartOf(1);
    await goToReview(page);
    const other = await page.context().newPage();
    await other.goto(new URL("/shop/cart", page.url()).href);
    await other.getByLabel(`Quantity of ${name}`).fill("4");
    await other.getByLabel(`Quantity of ${name}`).press("Enter");
    await page.locator(".order-total").getByText("€0.40").waitFor();
    await other.goto(page.url());
    await placeOrder(other);
    await page.getByRole("heading", { name: "Your cart is empty" }).waitFor();
    await other.close();
    expect(await orderCount()).toBe(1);
    expect(await page.locator("tfoot td").last().innerText()).toBe("€0.40");
  });
});

describe("a changed price", () => {
  test("shows in the cart, beside the price when the product was added", async () => {
    const { id } = await cartOf(3);
    const total = page.locator(".order-total .price");
    expect(await total.innerText()).toBe("€0.30");
    await staff.reprice(id, "1234.56");
    await page.reload();
    await total.getByText("€3,703.68").waitFor();
    await page.getByText("The price was €0.10 when you added it.").waitFor();
  });

  test("is agreed to before it is ordered", async () => {
    const { id } = await cartOf(2);
    await goToReview(page);
    await staff.reprice(id, "7.50");
    await page.getByRole("button", { name: "Place order" }).click();
    await page.getByText("Prices have changed. Check the new total and place the order again.").waitFor();
    await page.locator(".order-total").getByText("€15.00").waitFor();
    await page.getByText("The price was €0.10.").waitFor();
    await placeOrder(page);
    expect(await page.locator("tfoot td").last().innerText()).toBe("€15.00");
    expect(await orderCount()).toBe(1);
  });

  test("does not change an order that was placed", async () => {
    const { id } = await cartOf(2);
    await goToReview(page);
    await placeOrder(page);
    await staff.reprice(id, "99.00");
    await page.reload();
    await page.locator("tfoot td").last().getByText("€0.20").waitFor();
  });
});

describe("a product that is no longer sold", () => {
  test("shows in the cart, and leaves it by hand", async () => {
    const { id, name } = await cartOf(1);
    await staff.withdraw(id);
    await page.reload();
    await page.getByText("This product is no longer available.").waitFor();
    await page.getByText("Remove the products that are not available.").waitFor();
    expect(await page.getByRole("link", { name: "Check out" }).count()).toBe(0);
    await page.getByRole("button", { name: `Remove ${name}` }).click();
    await page.getByRole("heading", { name: "Your cart is empty" }).waitFor();
  });

  test("stops the order under review, which goes on without it", async () => {
    const { id, name } = await cartOf(1);
    const [kept] = category.products;
    await page.goto(new URL(`/shop/product/${kept?.id ?? ""}`, page.url()).href);
    await addToCart(page, 1);
    await goToReview(page);
    await staff.withdraw(id);
    const order = page.getByRole("button", { name: "Place order" });
    await order.click();
    await page.getByText("This product is no longer available.").waitFor();
    expect(await order.isDisabled()).toBe(true);
    await page.getByRole("link", { name: "Change the cart" }).click();
    await page.getByRole("button", { name: `Remove ${name}` }).click();
    await page.getByRole("link", { name: "Check out" }).click();
    await page.getByRole("button", { name: "Deliver to this address" }).click();
    await placeOrder(page);
    expect(await page.getByRole("rowheader", { name }).count()).toBe(0);
  });

  test("stays in an order that was placed, and out of its repetition", async () => {
    const { id, name } = await cartOf(1);
    const [kept] = category.products;
    await page.goto(new URL(`/shop/product/${kept?.id ?? ""}`, page.url()).href);
    await addToCart(page, 2);
    await goToReview(page);
    await placeOrder(page);
    await page.getByRole("link", { name: "All orders" }).click();
    await page.getByRole("button", { name: "Order again" }).click();
    await heading("Cart").waitFor();
    expect(await page.getByRole("link", { name: "Cart 3", exact: true }).count()).toBe(1);
    await staff.withdraw(id);
    await page.goBack();
    await page.getByRole("rowheader", { name }).waitFor();
    await page.getByRole("button", { name: "Order again" }).click();
    await page.getByText(`1 product could not be added: ${name}.`).waitFor();
    expect(await page.getByRole("link", { name: "Cart 5", exact: true }).count()).toBe(1);
  });
});

describe("a product that is sold out", () => {
  test("shows in the cart until the shop has some again", async () => {
    const { id } = await cartOf(1);
    await staff.markSoldOut(id, true);
    await page.reload();
    await page.getByText("This product is sold out.").waitFor();
    expect(await page.getByRole("link", { name: "Check out" }).count()).toBe(0);
    await staff.markSoldOut(id, false);
    await page.reload();
    await page.getByRole("link", { name: "Check out" }).waitFor();
    expect(await page.getByText("This product is sold out.").count()).toBe(0);
  });

  test("is not offered on its page, in lists, and by the repetition of an order", async () => {
    const { id, name } = await cartOf(1);
    await goToReview(page);
    await placeOrder(page);
    await staff.markSoldOut(id, true);
    await page.getByRole("link", { name: "All orders" }).click();
    await page.getByRole("button", { name: "Order again" }).click();
    await page.getByText(`1 product could not be added: ${name}.`).waitFor();
    await page.goto(new URL(`/shop/product/${id}`, page.url()).href);
    await page.locator(".product").getByText("Sold out").waitFor();
    expect(await page.locator(".product").getByRole("button", { name: "Add to cart" }).count()).toBe(0);
    await page.goto(new URL(`/shop/category/${category.id}`, page.url()).href);
    const card = page.locator(".product-card", { hasText: name });
    await card.getByText("Sold out").waitFor();
    expect(await card.getByRole("button").count()).toBe(0);
  });

  test("stops the order under review, also where it sells out between look and order", async () => {
    const { id } = await cartOf(1);
    await goToReview(page);
    let looks = 0;
    await page.route("**/graphql*", async (route) => {
      if (looks === 0 && route.request().postData()?.includes("mutation CreateSalesOrder") === true) {
        looks += 1;
        await staff.markSoldOut(id, true);
      }
      await route.continue();
    });
    const order = page.getByRole("button", { name: "Place order" });
    await order.click();
    await page.getByText("This product is sold out.").waitFor();
    expect(await order.isDisabled()).toBe(true);
    expect(await page.getByRole("alert").allTextContents()).toEqual(["Remove the products that are not available."]);
    await page.goto(new URL("/shop/orders", page.url()).href);
    await page.getByText("You have no orders yet").waitFor();
  });
});

describe("an order", () => {
  test("is placed once by a double click", async () => {
    await cartOf(1);
    await goToReview(page);
    await page.getByRole("button", { name: "Place order" }).dblclick();
    await page.getByText("Your order has been placed.").waitFor();
    expect(await orderCount()).toBe(1);
  });

  test("is placed once when its answer was lost, over a reload", async () => {
    await cartOf(1);
    await goToReview(page);
    let lost = 0;
    await page.route("**/graphql", async (route) => {
      if (lost === 0 && route.request().postData()?.includes("mutation CreateSalesOrder") === true) {
        lost += 1;
        await route.fetch();
        await route.abort();
      } else {
        await route.continue();
      }
    });
    await page.getByRole("button", { name: "Place order" }).click();
    await page.getByText("We could not confirm your order. Try again; it will not be placed twice.").waitFor();
    // The browser notes the request that was cut off.
    conduct.errors.length = 0;
    await page.reload();
    await placeOrder(page);
    expect(await orderCount()).toBe(1);
  });

  test("goes on after an ended session", async () => {
    await cartOf(1);
    await page.getByRole("link", { name: "Check out" }).click();
    await page.getByLabel("Street and number").waitFor();
    await page.context().clearCookies();
    await page.evaluate(() => {
      const customer = { id: "c", firstName: "Eva", lastName: "Stone" };
      localStorage.setItem("onehop:customer-session", JSON.stringify({ customer }));
    });
    await page.reload();
    await page.getByText("Your session has ended.").waitFor();
    await page.getByRole("link", { name: "Sign in to the shop" }).click();
    await signUpCustomer(page);
    await fillAddress(page);
    await page.getByRole("button", { name: "Deliver to this address" }).click();
    await placeOrder(page);
  });

  test("goes to the address that was chosen last", async () => {
    await cartOf(1);
    await goToReview(page);
    await page.getByRole("link", { name: "Change the delivery address" }).click();
    await page.getByRole("button", { name: "Add another address" }).click();
    await fillAddress(page, "Hill Road 1");
    await page.getByRole("button", { name: "Deliver to this address" }).click();
    await page.getByText("Hill Road 1").waitFor();
    await page.goBack();
    await page.getByRole("radio", { name: /Meadow Lane 7/ }).check();
    await page.getByRole("button", { name: "Deliver to this address" }).click();
    await heading("Review your order").waitFor();
    await page.getByText("Meadow Lane 7").waitFor();
    expect(await page.getByText("Hill Road 1").count()).toBe(0);
    await placeOrder(page);
    const orderUrl = page.url();
    await page.getByRole("link", { name: "Eva Stone" }).click();
    await page.getByRole("button", { name: "Remove Hill Road 1" }).click();
    await page.getByText("Hill Road 1").first().waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("button", { name: "Remove Meadow Lane 7" }).click();
    await page.getByText("Meadow Lane 7").first().waitFor({ state: "detached" });
    await page.goto(orderUrl);
    // The order keeps its own.
    await page.getByText("Meadow Lane 7").waitFor();
  });
});
