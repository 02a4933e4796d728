/** The shop: browsing and ordering as a customer, renaming and the ranking as staff. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { projectionsDrained } from "../server.js";
import { baseUrl, launchBrowser, leave, openPage, subscription, type Conduct } from "./browser.js";
import { showCosts } from "./cost-switch.js";
import { freshName, signUp } from "./people.js";
import {
  addToCart,
  categories,
  fillAddress,
  goToReview,
  placeOrder,
  seller,
  signInAsStaff,
  signUpCustomer,
  type Category,
  type Sold,
} from "./shop.js";

let browser: Browser;
let page: Page;
let conduct: Conduct;
let category: Category;
/** With a tag. */
let product: Sold;

beforeAll(async () => {
  browser = await launchBrowser();
  const [first] = await categories();
  const [sold] = first?.products ?? [];
  if (first === undefined || sold === undefined) {
    throw new Error("The demo has no products.");
  }
  [category, product] = [first, sold];
});

afterAll(async () => {
  await browser.close();
});

afterEach(async () => {
  expect(conduct.errors).toEqual([]);
  expect(conduct.foreignRequests).toEqual([]);
  await leave(page);
});

async function open(path: string, expectedStatuses: number[] = []): Promise<void> {
  ({ page, conduct } = await openPage(browser, path, { expectedStatuses }));
}

function heading(name: string) {
  return page.getByRole("heading", { level: 1, name, exact: true });
}

/** The charge on the page, in request units. */
async function charge(): Promise<number> {
  return Number((await page.locator(".cost summary .cost-sum").innerText()).replace(/ RU$/, "").replaceAll(",", ""));
}

describe("a visitor", () => {
  test("goes from the catalogue to a category, a product and a tag, and sees what each cost", async () => {
    await open("/");
    await page.getByRole("link", { name: "Shop", exact: true }).click();
    await page.getByRole("link", { name: category.name, exact: true }).click();
    await heading(category.name).waitFor();
    await showCosts(page);
    await page.getByRole("link", { name: product.name, exact: true }).click();
    await heading(product.name).waitFor();
    await page.getByRole("heading", { name: "You may also like" }).waitFor();
    await page.waitForFunction((expected) => document.title === `${expected} · Onehop`, product.name);
    expect(await charge()).toBeGreaterThan(0);
    const tag = product.tags[0]?.name ?? "";
    await page.getByRole("list", { name: "Tags" }).getByRole("link", { name: tag, exact: true }).click();
    await heading(tag).waitFor();
    await page.locator(".product-card").first().waitFor();
    expect(await charge()).toBeGreaterThan(0);
  });

  test("sees a new price, that a product is sold out, and that it is withdrawn, as it happens", async () => {
    const staff = await seller();
    const name = `Trail Lamp ${freshName()}`;
    const id = await staff.sell(category.id, name, "20");
    const { watch, begun } = subscription("productChanged");
    ({ page, conduct } = await openPage(browser, `/shop/product/${id}`, { watch }));
    await heading(name).waitFor();
    await begun;
    await staff.reprice(id, "18.50");
    await page.locator(".product-price", { hasText: "€18.50" }).waitFor();
    await staff.markSoldOut(id, true);
    const shown = page.locator(".product");
    await shown.getByText("Sold out").waitFor();
    expect(await shown.getByRole("button", { name: "Add to cart" }).count()).toBe(0);
    await staff.withdraw(id);
    await heading("Product not found").waitFor();
  });

  test("sorts and filters a category, and finds the view again after a reload and by the back button", async () => {
    await open(`/shop/category/${category.id}`);
    const prices = async () =>
      (await page.locator(".product-card .price").allInnerTexts()).map((text) => Number(text.replaceAll(/[€,]/g, "")));
    const all = (await page.locator(".product-card").first().waitFor(), await prices());
    await page.getByLabel("Sort by").selectOption("price-down");
    expect(await prices()).toEqual(all.toSorted((a, b) => b - a));
    const tag = page.getByRole("button", { name: product.tags[0]?.name ?? "" }).first();
    await tag.click();
    const shown = await prices();
    expect(shown.length).toBeLessThan(all.length);
    await page.getByText(shown.length === 1 ? "1 product" : `${shown.length} products`, { exact: true }).waitFor();
    await page.reload();
    // The page from the server has all products.
    await page.locator(".list-controls").waitFor();
    expect(await prices()).toEqual(shown);
    await page.locator(".product-card a").first().click();
    await page.getByLabel("Quantity").waitFor();
    await page.goBack();
    await page.locator(".list-controls").waitFor();
    expect(await prices()).toEqual(shown);
  });

  test("searches the names of products, and adds one to the cart", async () => {
    await open("/shop");
    await page.locator(".category-links").waitFor();
    const name = await page.locator(".product-card a").first().innerText();
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Search" }).click();
    await page.getByLabel("Words in the name").fill(name);
    await page.getByRole("button", { name: "Search" }).click();
    const card = page.locator(".product-card").filter({ hasText: name }).first();
    await card.getByRole("button", { name: "Add to cart" }).click();
    await page.locator(".cart-count").filter({ hasText: "1" }).waitFor();
    await page.getByLabel("Words in the name").fill("nothingofthekind");
    await page.keyboard.press("Enter");
    await page.getByText("No products with these words").waitFor();
  });

  test("adds to the cart from a list, also from another tab", async () => {
    await open(`/shop/category/${category.id}`);
    const card = page.locator(".product-card", { hasText: product.name }).first();
    const add = card.getByRole("button", { name: `Add to cart ${product.name}` });
    await add.click();
    await card.getByText("1 in cart").waitFor();
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.getByRole("button", { name: `Add to cart ${product.name}` }).click();
    await card.getByText("2 in cart").waitFor();
    await other.close();
  });

  test("who previews a link finds the name of a product, a category and a tag", async () => {
    await open("/shop");
    for (const [kind, { id, name }] of [
      ["category", category],
      ["product", product],
      ["tag", product.tags[0] ?? product],
    ] as const) {
      const html = await (await fetch(new URL(`/shop/${kind}/${id}`, page.url()))).text();
      expect(html).toContain(`<title>${name} · Onehop</title>`);
    }
  });

  test("fills a cart that outlives a reload, and is refused what no order may have", async () => {
    await open(`/shop/product/${product.id}`);
    await page.getByLabel("Quantity").fill("1001");
    await page.getByRole("button", { name: "Add to cart", exact: true }).click();
    await page.getByText("Enter a whole number from 1 to 1,000.").waitFor();
    await addToCart(page, 2);
    await page.reload();
    const quantity = page.getByLabel(`Quantity of ${product.name}`);
    await quantity.fill("0");
    await page.getByText("Enter a whole number from 1 to 1,000.").waitFor();
    await quantity.fill("3");
    await quantity.press("Enter");
    await page.getByRole("navigation", { name: "Shop" }).getByText("3", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Sign in to check out" }).waitFor();
    await page.getByRole("button", { name: `Remove ${product.name}` }).click();
    await page.getByRole("heading", { name: "Your cart is empty" }).waitFor();
  });

  test("keeps the cart while signing up, sees each wrong field, and orders", async () => {
    await open(`/shop/product/${product.id}`);
    await addToCart(page, 2);
    await page.getByRole("link", { name: "Sign in to check out" }).click();
    await page.getByRole("button", { name: "Sign up" }).click();
    await page.getByLabel("First name").fill("Eva");
    await page.getByLabel("Last name").fill("x".repeat(101));
    await page.getByLabel("E-mail address").fill(`${freshName()}@example.com`);
    await page.getByLabel("Password").fill("short");
    await page.getByRole("button", { name: "Sign up", exact: true }).click();
    await page.locator(".field", { hasText: "Last name" }).getByRole("alert").waitFor();
    await page.locator(".field", { hasText: "Password" }).getByRole("alert").waitFor();
    await page.getByLabel("Last name").fill("Stone");
    await page.getByLabel("Password").fill("a long password");
    await page.getByRole("button", { name: "Sign up", exact: true }).click();
    await heading("Delivery address").waitFor();
    await fillAddress(page);
    await page.getByRole("button", { name: "Deliver to this address" }).click();
    await placeOrder(page);
    await page.getByRole("rowheader", { name: product.name }).waitFor();
  });
});

describe("a customer", () => {
  test("keeps a half-typed sign-up over a reload, without the password", async () => {
    await open("/shop/signin");
    await page.getByRole("button", { name: "Sign up" }).click();
    await page.getByLabel("First name").fill("Eva");
    await page.getByLabel("Password").fill("a long password");
    await page.reload();
    await heading("Sign up").waitFor();
    expect(await page.getByLabel("First name").inputValue()).toBe("Eva");
    expect(await page.getByLabel("Password").inputValue()).toBe("");
  });

  test("orders, sees the order, cancels it, and signs in again", async () => {
    await open("/shop/signin");
    const emailAddress = await signUpCustomer(page);
    await page.getByRole("link", { name: "Orders", exact: true }).click();
    await page.getByRole("heading", { name: "You have no orders yet" }).waitFor();
    await page.goto(new URL(`/shop/product/${product.id}`, page.url()).href);
    await addToCart(page, 2);
    const total = await page.locator(".order-total .price").innerText();
    await goToReview(page);
    await placeOrder(page);
    const title = await page.getByRole("heading", { level: 1 }).innerText();
    expect(title).toMatch(/^Order [0-9A-F]{4}-[0-9A-F]{4}$/);
    expect(await page.locator("tfoot td").last().innerText()).toBe(total);
    await page.getByRole("link", { name: "All orders" }).click();
    await page.getByText("1 order", { exact: true }).waitFor();
    const order = page.locator(".order");
    await order.getByRole("heading", { name: title }).waitFor();
    await page.getByRole("link", { name: "Cart", exact: true }).click();
    await page.getByRole("heading", { name: "Your cart is empty" }).waitFor();

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("link", { name: "Sign in", exact: true }).click();
    await page.getByLabel("E-mail address").fill(emailAddress.toUpperCase());
    await page.getByLabel("Password").fill("one-hop-is-enough");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    await page.getByRole("link", { name: "Orders", exact: true }).click();
    await order.getByRole("button", { name: "Cancel order" }).click();
    await page.getByRole("group", { name: "Cancel this order?" }).getByRole("button", { name: "Cancel order" }).click();
    await order.getByText("Cancelled just now").waitFor();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(title);
    await page.reload();
    await order.getByText("Cancelled", { exact: false }).waitFor();
    expect(await order.getByRole("button", { name: "Cancel order" }).count()).toBe(0);
    await order.getByRole("button", { name: "Order again" }).waitFor();
  });

  test("is known after a reload and in every tab, until one of them signs out", async () => {
    await open("/shop/signin");
    await signUpCustomer(page);
    await page.reload();
    const signOut = (tab: Page) => tab.getByRole("button", { name: "Sign out" });
    await signOut(page).waitFor();
    const other = await page.context().newPage();
    await other.goto(new URL("/shop/orders", page.url()).href);
    await signOut(other).waitFor();
    await other.getByRole("heading", { name: "You have no orders yet" }).waitFor();
    await signOut(other).click();
    await page
      .getByRole("link", { name: "Sign in to the shop" })
      .or(page.getByRole("link", { name: "Sign in", exact: true }))
      .first()
      .waitFor();
    const stored = await page.evaluate(() =>
      JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)]),
    );
    expect(stored).not.toMatch(/eyJ|accessToken/);
    await other.close();
  });

  test("changes the password and the e-mail address, and signs out of all browsers", async () => {
    await open("/shop/signin");
    const emailAddress = await signUpCustomer(page);
    await page.getByRole("link", { name: "Eva Stone" }).click();
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByLabel("Current password").fill("one-hop-is-enough");
    await page.getByLabel("New password").fill("one-hop-is-enough");
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.getByText("must be another password").waitFor();
    await page.getByLabel("New password").fill("another horse battery");
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.getByText("Your password is changed.").waitFor();
    await page.getByRole("button", { name: "Change e-mail address" }).click();
    await page.getByLabel("New e-mail address").fill(`new.${emailAddress}`);
    await page.getByLabel("Password").fill("another horse battery");
    await page.getByRole("button", { name: "Change the e-mail address" }).click();
    await page.getByText(`new.${emailAddress}`).waitFor();
    await page.getByRole("button", { name: "Sign out of all browsers" }).click();
    await page.getByRole("heading", { name: "Sign in to see your account" }).waitFor();
    await page.getByRole("link", { name: "Sign in to the shop" }).click();
    await page.getByLabel("E-mail address").fill(`new.${emailAddress}`);
    await page.getByLabel("Password").fill("another horse battery");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("heading", { name: "Your account" }).waitFor();
  });
});

describe("staff", () => {
  test("rename a category, watch the name travel, and find it on a product", async () => {
    await open("/shop/staff");
    await signInAsStaff(page, "staff");
    await page.getByRole("link", { name: "Names", exact: true }).click();
    const name = `Renamed ${freshName()}`;
    await page.getByLabel("Category or tag").selectOption(category.id);
    await page.getByLabel("New name").fill(name);
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByText("Done. The new name is shown everywhere.").waitFor();
    await page.getByRole("link", { name, exact: true }).click();
    await heading(name).waitFor();
    await page.getByRole("link", { name: product.name, exact: true }).click();
    await page.reload();
    await page.locator(".product-category").getByRole("link", { name }).waitFor();
  });

  test("rename a tag, and find it on a product", async () => {
    const [tag] = product.tags;
    await open(`/shop/tag/${tag?.id ?? ""}`);
    await page.goto(new URL(`/signin?next=/shop/tag/${tag?.id ?? ""}`, page.url()).href);
    await page.getByLabel("Username").fill("ada");
    await page.getByLabel("Password").fill("one-hop-at-a-time");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("link", { name: "Rename", exact: true }).click();
    expect(await page.getByLabel("Category or tag").inputValue()).toBe(tag?.id);
    const name = `renamed ${freshName()}`;
    await page.getByLabel("New name").fill(name);
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByText("Done. The new name is shown everywhere.").waitFor();
    await page.goto(new URL(`/shop/product/${product.id}`, page.url()).href);
    await page.getByRole("list", { name: "Tags" }).getByRole("link", { name }).waitFor();
  });

  test("add a product, change its price, mark it as sold out, and withdraw it", async () => {
    await open("/shop/staff");
    await signInAsStaff(page, "staff");
    const name = `Alpine Bell ${freshName()}`;
    await page.getByRole("textbox", { name: "Name" }).fill(name);
    await page.getByLabel("Description").fill("Rings far.");
    await page.getByLabel("Price").fill("nine");
    await page.getByLabel("Item number").fill(`N-${freshName()}`);
    await page.getByLabel("Category").selectOption(category.id);
    await page.getByRole("button", { name: "Add product" }).click();
    await page.locator(".field-error").first().waitFor();
    await page.getByLabel("Price").fill("9.95");
    await page.getByRole("button", { name: "Add product" }).click();
    await page.getByRole("link", { name, exact: true }).click();
    await heading(name).waitFor();
    expect(await page.locator(".product-price").innerText()).toBe("€9.95");
    await page.getByRole("link", { name: "Edit", exact: true }).click();
    await page.getByLabel("Price").fill("12.50");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved. The price is €12.50").waitFor();
    await page.getByRole("link", { name: "Back to the product" }).click();
    expect(await page.locator(".product-price").innerText()).toBe("€12.50");
    await page.getByRole("link", { name: "Edit", exact: true }).click();
    await page.getByLabel("Sold out").check();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved. The price is €12.50").waitFor();
    await page.getByRole("link", { name: "Back to the product" }).click();
    await page.locator(".product").getByText("Sold out").waitFor();
    await page.getByRole("link", { name: "Edit", exact: true }).click();
    expect(await page.getByLabel("Sold out").isChecked()).toBe(true);
    // A second form saves another field, and leaves the price that the first one has changed meanwhile.
    const { page: second } = await openPage(browser, new URL(page.url()).pathname + new URL(page.url()).search);
    await signInAsStaff(second, "staff");
    await second.goto(page.url());
    await second.getByLabel("Description").fill("Rings farther.");
    const tag = second.getByRole("group", { name: "Tags, at most" }).getByRole("checkbox").first();
    await tag.check();
    await page.getByLabel("Price").fill("13.75");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved. The price is €13.75").waitFor();
    await second.getByRole("button", { name: "Save" }).click();
    await second.getByText("Saved. The price is €13.75").waitFor();
    expect(await second.getByLabel("Price").inputValue()).toBe("13.75");
    await page.reload();
    await page.getByText("Rings farther.").waitFor();
    expect(await page.getByLabel("Price").inputValue()).toBe("13.75");
    await page.getByRole("group", { name: "Tags, at most" }).getByRole("checkbox", { checked: true }).waitFor();
    // Text typed during a request stays in the form.
    await page.route("**/graphql", async (route) => {
      await page.getByLabel("Description").fill("Rings farthest.");
      await route.continue();
    });
    await page.getByLabel("Price").fill("14.25");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved. The price is €14.25").waitFor();
    expect(await page.getByLabel("Description").inputValue()).toBe("Rings farthest.");
    await page.unroute("**/graphql");
    await page.getByRole("button", { name: "Withdraw product" }).click();
    await page.getByRole("button", { name: "Withdraw product" }).click();
    await page.waitForURL("**/shop/category/**");
    await page.locator(".product-card").first().waitFor();
    expect(await page.getByRole("link", { name, exact: true }).count()).toBe(0);
  });

  test("ship an order, which its customer then cannot cancel", async () => {
    await open(`/shop/product/${product.id}`);
    await addToCart(page, 3);
    await page.getByRole("link", { name: "Sign in to check out" }).click();
    const lastName = freshName();
    await signUpCustomer(page, lastName);
    await fillAddress(page);
    await page.getByRole("button", { name: "Deliver to this address" }).click();
    await placeOrder(page);
    await projectionsDrained(baseUrl);
    const { page: staff } = await openPage(browser, "/shop/staff");
    await signInAsStaff(staff, "staff");
    await staff.getByRole("link", { name: "Shipping", exact: true }).click();
    await staff.getByRole("link", { name: `Eva ${lastName}` }).click();
    await staff.getByText("Meadow Lane 7").waitFor();
    await staff.getByRole("button", { name: "Mark as shipped" }).click();
    await staff.getByText("Shipped just now").waitFor();
    expect(await staff.getByRole("button", { name: "Mark as shipped" }).count()).toBe(0);
    await leave(staff);
    await page.getByText("Shipped just now").waitFor();
    expect(await page.getByRole("button", { name: "Cancel order" }).count()).toBe(0);
  });

  test("see the ranking beside its cross-partition twin, with both charges", async () => {
    // The ranking follows the orders of other tests.
    await projectionsDrained(baseUrl);
    await open("/shop/ranking");
    await signInAsStaff(page, "ranking");
    await page.locator(".ranking ol").waitFor();
    expect(await page.locator("main").innerText()).not.toMatch(/partition|RU\b/);
    await showCosts(page);
    await page
      .getByText(/^One hop costs [\d/ %]+ of the query across partitions\. The query visits \d+ phys/)
      .waitFor();
    const rankings = page.locator(".ranking");
    const [oneHop = "", across = ""] = await rankings.locator("h2 .cost-sum").allInnerTexts();
    expect(Number.parseFloat(oneHop)).toBeGreaterThan(0);
    expect(Number.parseFloat(across)).toBeGreaterThan(Number.parseFloat(oneHop));
    const orders = (index: number) => rankings.nth(index).locator("li > span").allInnerTexts();
    expect(await orders(0)).toHaveLength(10);
    expect(await orders(0)).toEqual(await orders(1));
    expect(await charge()).toBeGreaterThanOrEqual(Number.parseFloat(oneHop) + Number.parseFloat(across));
  });

  test("are none of the users who are not named: they see no action of staff", async () => {
    await open("/");
    const asked = page.waitForResponse(
      (response) => response.request().postData()?.includes("query ViewerIsStaff") === true,
    );
    await signUp(page);
    await page.getByRole("link", { name: "Shop", exact: true }).click();
    // Other tests rename categories.
    await page.locator(".category-links a").first().click();
    await page.locator(".product-card").first().waitFor();
    expect(await (await asked).json()).toMatchObject({ data: { viewerIsStaff: false } });
    for (const name of ["Staff", "Ranking", "Rename"]) {
      expect(await page.getByRole("link", { name, exact: true }).count(), name).toBe(0);
    }
    for (const path of ["/shop/ranking", "/shop/staff"]) {
      await page.goto(new URL(path, page.url()).href);
      await page.getByRole("heading", { name: "Only staff can see this page" }).waitFor();
      expect(await page.getByRole("button", { name: "Rename" }).count()).toBe(0);
    }
  });
});
