/** The shop: browsing and ordering as a customer, renaming and the ranking as staff. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { projectionsDrained } from "../server.js";
import { baseUrl, launchBrowser, openPage, type Conduct } from "./browser.js";
import { freshName, signUp } from "./people.js";
import { addToCart, categories, seller, signInAsStaff, signUpCustomer, type Category, type Sold } from "./shop.js";

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
  await page.context().close();
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

/** Signs up and goes to the cart, which has some of the product. */
async function fillCart(quantity: number): Promise<void> {
  await open("/shop/signin");
  await signUpCustomer(page);
  await page.evaluate((path) => {
    history.pushState(null, "", path);
  }, `/shop/product/${product.id}`);
  await heading(product.name).waitFor();
  await addToCart(page, quantity);
}

describe("a visitor", () => {
  test("goes from the catalogue to a category, a product and a tag, and sees what each cost", async () => {
    await open("/");
    await page.getByRole("link", { name: "Shop", exact: true }).click();
    await page.getByRole("link", { name: category.name, exact: true }).click();
    await heading(category.name).waitFor();
    await page.getByRole("switch", { name: "Show costs" }).check();
    await page.getByRole("link", { name: product.name, exact: true }).click();
    await heading(product.name).waitFor();
    await page.waitForFunction((expected) => document.title === `${expected} · Onehop`, product.name);
    expect(await charge()).toBeGreaterThan(0);
    const tag = product.tags[0]?.name ?? "";
    await page.getByRole("link", { name: tag, exact: true }).click();
    await heading(tag).waitFor();
    await page.locator(".product-card").first().waitFor();
    expect(await charge()).toBeGreaterThan(0);
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
    await page.getByRole("button", { name: "Add to cart" }).click();
    await page.getByText("Enter a whole number from 1 to 1,000.").waitFor();
    await addToCart(page, 2);
    await page.reload();
    const quantity = page.getByLabel(`Quantity of ${product.name}`);
    await quantity.fill("0");
    await page.getByText("Enter a whole number from 1 to 1,000.").waitFor();
    await quantity.fill("3");
    await quantity.press("Enter");
    await page.getByRole("navigation", { name: "Shop" }).getByText("3", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Sign in to order" }).waitFor();
    await page.getByRole("button", { name: `Remove ${product.name}` }).click();
    await page.getByRole("heading", { name: "Your cart is empty" }).waitFor();
  });

  test("keeps the cart while signing up, sees each wrong field, and orders", async () => {
    await open(`/shop/product/${product.id}`);
    await addToCart(page, 2);
    await page.getByRole("link", { name: "Sign in to order" }).click();
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
    await heading("Cart").waitFor();
    await page.getByRole("button", { name: "Place order" }).click();
    await page.getByText("Thank you. Your order has been placed.").waitFor();
    await page.getByRole("rowheader", { name: product.name }).waitFor();
  });
});

describe("a cart", () => {
  test("has the prices of now, and what is not sold any more cannot be ordered", async () => {
    const staff = await seller();
    const name = `Short-lived ${freshName()}`;
    const id = await staff.sell(category.id, name, "0.10");
    await open("/shop/signin");
    await signUpCustomer(page);
    await page.goto(new URL(`/shop/product/${id}`, page.url()).href);
    await addToCart(page, 3);
    const total = page.locator(".order-total .price");
    expect(await total.innerText()).toBe("€0.30");
    await staff.reprice(id, "1234.56");
    await page.reload();
    await total.getByText("€3,703.68").waitFor();

    await staff.withdraw(id);
    const order = page.getByRole("button", { name: "Place order" });
    await order.click();
    await page.getByText("This product is no longer available.").waitFor();
    expect(await order.isDisabled()).toBe(true);
    await page.getByRole("button", { name: `Remove ${name}` }).click();
    await page.getByRole("heading", { name: "Your cart is empty" }).waitFor();
  });
});

describe("a customer", () => {
  test("orders, sees the order, cancels it, and signs in again", async () => {
    await open("/shop/signin");
    const emailAddress = await signUpCustomer(page);
    await page.getByRole("link", { name: "Orders", exact: true }).click();
    await page.getByRole("heading", { name: "You have no orders yet" }).waitFor();
    await page.goto(new URL(`/shop/product/${product.id}`, page.url()).href);
    await addToCart(page, 2);
    const total = await page.locator(".order-total .price").innerText();
    await page.getByRole("button", { name: "Place order" }).click();
    await page.getByText("1 order", { exact: true }).waitFor();
    const order = page.locator(".order");
    expect(await order.locator("tfoot td").last().innerText()).toBe(total);
    await page.getByRole("link", { name: "Cart", exact: true }).click();
    await page.getByRole("heading", { name: "Your cart is empty" }).waitFor();

    await page.getByRole("button", { name: "Sign out of the shop" }).click();
    await page.getByRole("link", { name: "Sign in as a customer" }).click();
    await page.getByLabel("E-mail address").fill(emailAddress.toUpperCase());
    await page.getByLabel("Password").fill("one-hop-is-enough");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("button", { name: "Sign out of the shop" }).waitFor();
    await page.getByRole("link", { name: "Orders", exact: true }).click();
    await order.getByRole("button", { name: "Cancel order" }).click();
    await page.getByRole("group", { name: "Cancel this order?" }).getByRole("button", { name: "Cancel order" }).click();
    await page.getByRole("heading", { name: "You have no orders yet" }).waitFor();
  });

  test("is known after a reload and in every tab, until one of them signs out", async () => {
    await open("/shop/signin");
    await signUpCustomer(page);
    await page.reload();
    const signOut = (tab: Page) => tab.getByRole("button", { name: "Sign out of the shop" });
    await signOut(page).waitFor();
    const other = await page.context().newPage();
    await other.goto(new URL("/shop/orders", page.url()).href);
    await signOut(other).waitFor();
    await other.getByRole("heading", { name: "You have no orders yet" }).waitFor();
    await signOut(other).click();
    await page.getByRole("link", { name: "Sign in as a customer" }).first().waitFor();
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
    await page.getByRole("button", { name: "Change your e-mail address" }).click();
    await page.getByLabel("New e-mail address").fill(`new.${emailAddress}`);
    await page.getByLabel("Password").fill("another horse battery");
    await page.getByRole("button", { name: "Change the e-mail address" }).click();
    await page.getByText(`new.${emailAddress}`).waitFor();
    await page.getByRole("button", { name: "Sign out of all browsers" }).click();
    await page.getByRole("heading", { name: "Sign in to see your account" }).waitFor();
    await page.getByRole("main").getByRole("link", { name: "Sign in as a customer" }).first().click();
    await page.getByLabel("E-mail address").fill(`new.${emailAddress}`);
    await page.getByLabel("Password").fill("another horse battery");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("heading", { name: "Your account" }).waitFor();
  });

  test("who clicks twice orders once", async () => {
    await fillCart(1);
    await page.getByRole("button", { name: "Place order" }).dblclick();
    await page.getByText("1 order", { exact: true }).waitFor();
    await page.reload();
    await page.getByText("1 order", { exact: true }).waitFor();
    expect(await page.locator(".order").count()).toBe(1);
  });

  test("who orders again after a lost answer, and a reload, orders once", async () => {
    await fillCart(1);
    conduct.errors.length = 0;
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
    await page.getByRole("button", { name: "Place order" }).click();
    await page.getByText("1 order", { exact: true }).waitFor();
    expect(await page.locator(".order").count()).toBe(1);
  });

  test("whose session has ended signs in again, and the cart is still there", async () => {
    await fillCart(1);
    await page.context().close();
    await open(`/shop/product/${product.id}`);
    await addToCart(page, 1);
    await page.evaluate(() => {
      const customer = { id: "c", firstName: "Eva", lastName: "Stone" };
      localStorage.setItem("onehop:customer-session", JSON.stringify({ customer }));
    });
    await page.reload();
    await page.getByRole("button", { name: "Place order" }).click();
    await page.getByText("Your session as a customer has ended.").waitFor();
    await page.getByRole("link", { name: "Sign in again" }).click();
    await signUpCustomer(page);
    await page.getByRole("button", { name: "Place order" }).click();
    await page.getByText("1 order", { exact: true }).waitFor();
  });
});

describe("staff", () => {
  test("rename a category, watch the name travel, and find it on a product", async () => {
    await open("/shop/staff");
    await signInAsStaff(page, "staff");
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
    await page.getByRole("link", { name: "Sign in to the blog" }).click();
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

  test("see the ranking beside its cross-partition twin, with both charges", async () => {
    // The ranking follows the orders of other tests.
    await projectionsDrained(baseUrl);
    await open("/shop/ranking");
    await signInAsStaff(page, "ranking");
    await page.locator(".ranking ol").waitFor();
    expect(await page.locator("main").innerText()).not.toMatch(/partition|RU\b/);
    await page.getByRole("switch", { name: "Show costs" }).check();
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
    const answers: boolean[] = [];
    page.on("response", (response) => {
      if (response.request().postData()?.includes("query ViewerIsStaff") === true) {
        void response.json().then(({ data }: { data: { viewerIsStaff: boolean } }) => answers.push(data.viewerIsStaff));
      }
    });
    await signUp(page);
    await page.getByRole("link", { name: "Shop", exact: true }).click();
    // Other tests rename categories.
    await page.locator(".category-links a").first().click();
    await page.locator(".product-card").first().waitFor();
    await expect.poll(() => answers).toEqual([false]);
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
