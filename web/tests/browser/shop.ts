/** Customers and staff of the shop in a test, and what the shop sells. */
import type { Page } from "playwright-core";
import { baseUrl } from "./browser.js";
import { freshName, PASSWORD, request } from "./people.js";

/** The member of staff of the demo, and the password of its users. */
const STAFF = { username: "ada", password: "one-hop-at-a-time" };

export interface Sold {
  id: string;
  name: string;
  price: { amount: string; currencyCode: string };
  tags: { id: string; name: string }[];
}

export interface Category {
  id: string;
  name: string;
  products: Sold[];
}

/** Categories with at least two products, of which one has a tag. */
export async function categories(url = baseUrl): Promise<Category[]> {
  const { productCategories } = await request<{
    productCategories: { id: string; name: string; products: { nodes: Sold[] } }[];
  }>(
    `{ productCategories { id name products(first: 2) { nodes { id name price { amount currencyCode } tags { id name } } } } }`,
    {},
    { url },
  );
  return productCategories
    .map(({ id, name, products: { nodes } }) => ({ id, name, products: nodes }))
    .filter(({ products }) => products.length === 2 && products[0]?.tags.length !== 0);
}

/** Signs up as a customer by the page, and ends where the page leads. */
export async function signUpCustomer(page: Page): Promise<string> {
  const emailAddress = `${freshName()}@example.com`;
  await page.getByRole("button", { name: "Sign up" }).click();
  await page.getByLabel("First name").fill("Eva");
  await page.getByLabel("Last name").fill("Stone");
  await page.getByLabel("E-mail address").fill(emailAddress);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign up", exact: true }).click();
  await page.getByRole("button", { name: "Sign out of the shop" }).waitFor();
  return emailAddress;
}

/** Signs in as staff by the page, and ends on this page of the shop. */
export async function signInAsStaff(page: Page, place: "staff" | "ranking"): Promise<void> {
  await page.getByRole("main").getByRole("link", { name: "Sign in", exact: true }).click();
  await page.getByLabel("Username").fill(STAFF.username);
  await page.getByLabel("Password").fill(STAFF.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.waitForURL(`**/shop/${place}`);
}

/** Puts some of the product that is shown into the cart, and goes there. */
export async function addToCart(page: Page, quantity: number): Promise<void> {
  await page.getByLabel("Quantity").fill(String(quantity));
  await page.getByRole("button", { name: "Add to the cart" }).click();
  await page.getByRole("link", { name: "Go to the cart" }).click();
  await page.getByRole("heading", { level: 1, name: "Cart" }).waitFor();
}
