/** Customers and staff of the shop in a test, and its products. */
import type { Page } from "playwright-core";
import { baseUrl } from "./browser.js";
import { freshName, PASSWORD, request } from "./people.js";

/** The member of staff of the demo, and the password of its users. */
export const STAFF = { username: "ada", password: "one-hop-at-a-time" };

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

/** The categories that are looked at. */
const CATEGORIES_MAX = 3;

/**
 * Categories with two products that stay. Tests run side by side, and their own products, which have no tags,
 * come, sell out and go.
 */
export async function categories(url = baseUrl): Promise<Category[]> {
  const { productCategories } = await request<{ productCategories: { id: string; name: string }[] }>(
    "{ productCategories { id name } }",
    {},
    { url },
  );
  const found = productCategories.slice(0, CATEGORIES_MAX).map(async ({ id, name }) => {
    const { node } = await request<{ node: { products: { nodes: (Sold & { isSoldOut: boolean })[] } } }>(
      `query($id: ID!) {
        node(id: $id) {
          ... on ProductCategory {
            products(first: 20) { nodes { id name isSoldOut price { amount currencyCode } tags { id name } } }
          }
        }
      }`,
      { id },
      { url },
    );
    const stay = node.products.nodes.filter(({ isSoldOut, tags }) => !isSoldOut && tags.length !== 0);
    return { id, name, products: stay.slice(0, 2) };
  });
  return (await Promise.all(found)).filter(({ products }) => products.length === 2);
}

/** Signs up as a customer by the page, and ends where the page leads. */
export async function signUpCustomer(page: Page, lastName = "Stone"): Promise<string> {
  const emailAddress = `${freshName()}@example.com`;
  await page.getByRole("button", { name: "Sign up" }).click();
  await page.getByLabel("First name").fill("Eva");
  await page.getByLabel("Last name").fill(lastName);
  await page.getByLabel("E-mail address").fill(emailAddress);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign up", exact: true }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  return emailAddress;
}

/** Types a delivery address into the form of the checkout. */
export async function fillAddress(page: Page, street = "Meadow Lane 7"): Promise<void> {
  await page.getByLabel("Street and number").fill(street);
  await page.getByLabel("Postal code").fill("8001");
  await page.getByLabel("City").fill("Zurich");
  await page.getByLabel("Country").fill("Switzerland");
}

/** Goes from the cart to the review of the order, as a customer without an address. */
export async function goToReview(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Check out" }).click();
  await fillAddress(page);
  await page.getByRole("button", { name: "Deliver to this address" }).click();
  await page.getByRole("heading", { level: 1, name: "Review your order" }).waitFor();
}

/** Places the order under review, and ends on its confirmation. */
export async function placeOrder(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Place order" }).click();
  await page.getByText("Your order has been placed.").waitFor();
}

/** Signs in as staff by the page, and ends on this page of the shop. */
export async function signInAsStaff(page: Page, place: "staff" | "ranking"): Promise<void> {
  await page.getByRole("main").getByRole("link", { name: "Sign in", exact: true }).click();
  await signInAs(page, STAFF);
  await page.waitForURL(`**/shop/${place}`);
}

/** Signs a user in by the form that is shown. */
export async function signInAs(page: Page, user: { username: string; password: string }): Promise<void> {
  await page.getByLabel("Username").fill(user.username);
  await page.getByLabel("Password").fill(user.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}

/** Puts some of the product that is shown into the cart, and goes there. */
export async function addToCart(page: Page, quantity: number): Promise<void> {
  await page.getByLabel("Quantity").fill(String(quantity));
  await page.getByRole("button", { name: "Add to cart", exact: true }).click();
  await page.getByRole("link", { name: "View cart" }).click();
  await page.getByRole("heading", { level: 1, name: "Cart" }).waitFor();
}

/** A member of staff who sells without a browser. */
export async function seller(): Promise<{
  /** A new product of a category, in euros. */
  sell: (categoryId: string, name: string, amount: string) => Promise<string>;
  reprice: (productId: string, amount: string) => Promise<void>;
  markSoldOut: (productId: string, isSoldOut: boolean) => Promise<void>;
  withdraw: (productId: string) => Promise<void>;
}> {
  const { signIn } = await request<{ signIn: { accessToken: string } }>(
    "mutation($input: SignInInput!) { signIn(input: $input) { accessToken } }",
    { input: STAFF },
  );
  const as = { accessToken: signIn.accessToken };
  const price = (amount: string) => ({ amount, currencyCode: "EUR" });
  return {
    sell: async (categoryId, name, amount) => {
      const { createProduct } = await request<{ createProduct: { product: { id: string } } }>(
        "mutation($input: CreateProductInput!) { createProduct(input: $input) { product { id } } }",
        { input: { categoryId, name, sku: name, description: `The ${name}.`, price: price(amount), tagIds: [] } },
        as,
      );
      return createProduct.product.id;
    },
    reprice: async (productId, amount) => {
      await request(
        "mutation($input: UpdateProductInput!) { updateProduct(input: $input) { product { id } } }",
        { input: { productId, price: price(amount) } },
        as,
      );
    },
    markSoldOut: async (productId, isSoldOut) => {
      await request(
        "mutation($input: UpdateProductInput!) { updateProduct(input: $input) { product { id } } }",
        { input: { productId, isSoldOut } },
        as,
      );
    },
    withdraw: async (productId) => {
      await request(
        "mutation($input: DeleteProductInput!) { deleteProduct(input: $input) { deletedProductId } }",
        { input: { productId } },
        as,
      );
    },
  };
}
