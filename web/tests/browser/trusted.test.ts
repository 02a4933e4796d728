/** Every flow on a server in production that runs the documents of the pages and nothing else. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startServer, type Server } from "../server.js";
import { launchBrowser, leave, openPage, type Conduct } from "./browser.js";
import { showCosts } from "./cost-switch.js";
import { freshName, PASSWORD, request, signUp } from "./people.js";
import { addToCart, fillAddress, placeOrder, signUpCustomer } from "./shop.js";

/** The playground sends these where the data has products when it opens. */
const OF_PRODUCTS = ["PlaygroundProducts"];

const NEW_PASSWORD = "another horse battery";

const binary = process.env.ONEHOP_BIN ?? "";
/** More than a page of comments. */
const COMMENTS = 21;
/** The first words of a document, after its comments: the kind of operation, and its name. */
const OPERATION = /^(?:#.*\n)*(?:query|mutation|subscription) (\w+)/;
/** An example of the playground, which its test sends. */
const EXAMPLE = /^[QCW]\d/;

describe.skipIf(binary === "")("where the pages' documents alone run", () => {
  let directory: string;
  let documents: Map<string, string>;
  let server: Server;
  let browser: Browser;
  let page: Page;
  let conduct: Conduct;
  let username: string;
  let other: { accessToken: string };
  const otherName = freshName();
  const sent = new Set<string>();
  const refusals: string[] = [];

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "onehop-browser-"));
    const { stdout } = await promisify(execFile)(binary, ["documents"]);
    const file = join(directory, "trusted.json");
    await writeFile(file, stdout);
    const texts = Object.values(JSON.parse(stdout) as Record<string, string>);
    documents = new Map(
      texts.flatMap((text) => (operationOf(text) === undefined ? [] : [[operationOf(text) ?? "", text]])),
    );
    username = freshName();
    const data = join(directory, "data");
    const staff = await signedUpStaff(data, username);
    const trustedOnly = ["--trusted-only", "--trusted-documents", file];
    server = await startServer({
      binary,
      data,
      arguments: ["--production", "--operations=on", "--playground=on", "--staff", staff, ...trustedOnly],
    });
    browser = await launchBrowser();
    ({ page, conduct } = await openPage(browser, "/", { url: server.url, watch }));
  });

  afterAll(async () => {
    await browser.close();
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });

  function watch(page: Page): void {
    page.on("request", (request) => {
      if (request.url().endsWith("/graphql")) {
        sent.add(nameIn(request.postData() ?? ""));
      }
    });
    page.on("response", (response) => {
      if (response.url().endsWith("/graphql")) {
        response.text().then(note, () => undefined);
      }
    });
    page.on("websocket", (socket) => {
      socket.on("framesent", ({ payload }) => sent.add(nameIn(payload.toString())));
      socket.on("framereceived", ({ payload }) => {
        note(payload.toString());
      });
    });
  }

  function note(answer: string): void {
    if (answer.includes('"FORBIDDEN"')) {
      refusals.push(answer);
    }
  }

  /** A request without a browser, with a document of the pages. */
  function ask<Data>(name: string, variables: object, accessToken = ""): Promise<Data> {
    return request<Data>(documents.get(name) ?? "", variables, { url: server.url, accessToken });
  }

  test("a user signs up, another one signs in and writes", async () => {
    await signUp(page);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("link", { name: "Sign in" }).first().click();
    await page.getByLabel("Username").fill(username);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("link", { name: username, exact: true }).first().waitFor();
    await page.getByRole("link", { name: "Write", exact: true }).click();
    await page.getByLabel("Title").fill("Trusted");
    await page.getByLabel("Text").fill("To the byte.");
    await page.getByLabel("Tags").fill("trust");
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByRole("heading", { level: 1, name: "Trusted" }).waitFor();
    await page.getByRole("link", { name: "trust", exact: true }).click();
    await page.getByRole("link", { name: "Trusted", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Trusted" }).waitFor();
  });

  test("the page hears of comments, and shows the rest of them on demand", async () => {
    const postId = new URL(page.url()).pathname.split("/").at(-1);
    ({ createUser: other } = await ask<{ createUser: { accessToken: string } }>("SignUp", {
      input: { username: otherName, password: PASSWORD },
    }));
    for (let comment = 1; comment <= COMMENTS; comment += 1) {
      await ask("CreateComment", { input: { postId, content: `Comment ${comment}` } }, other.accessToken);
    }
    await page.getByText(`Comment ${COMMENTS}`, { exact: true }).waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Show more comments" }).click();
    await page.getByText(`Comment ${COMMENTS}`, { exact: true }).waitFor();
  });

  test("comments, edits, takes the comment back, likes and unlikes", async () => {
    await page.getByLabel("Your comment").fill("My first text");
    await page.getByRole("button", { name: "Comment", exact: true }).click();
    await page.locator(".comment").filter({ hasText: "My first text" }).getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Edit your comment").fill("Mine");
    await page.getByRole("button", { name: "Save" }).click();
    const mine = page.locator(".comment").filter({ hasText: "Mine" });
    await mine.getByRole("button", { name: "Delete" }).click();
    await mine.getByRole("group").getByRole("button", { name: "Delete" }).click();
    await mine.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Like" }).click();
    await page.getByText("1 like", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Liked" }).click();
    await page.getByText("0 likes", { exact: true }).waitFor();
  });

  test("edits", async () => {
    await page.getByRole("link", { name: "Edit" }).click();
    await page.getByLabel("Title").waitFor();
    // Otherwise the text comes from the cache.
    await page.reload();
    await page.getByLabel("Title").fill("Trusted again");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { level: 1, name: "Trusted again" }).waitFor();
  });

  test("the feed hears of what others write", async () => {
    await page.getByRole("link", { name: "Blog", exact: true }).click();
    await page.locator(".post-card").first().waitFor();
    // The cards are in the HTML of the server: the application listens later.
    const listening = new Promise<void>((resolve) => {
      page.once("websocket", (socket) => {
        socket.on("framesent", ({ payload }) => {
          if (nameIn(payload.toString()) === "FeedChanges") {
            resolve();
          }
        });
      });
    });
    await page.reload();
    await page.locator(".post-card").first().waitFor();
    await listening;
    await ask("Feed", { first: 1 });
    await ask("CreatePost", { input: { title: "By another", content: "Live." } }, other.accessToken);
    await page.getByRole("button", { name: "1 new post" }).click();
    await page.locator(".post-card h2").filter({ hasText: "By another" }).waitFor();
  });

  test("customers order what the staff made, and staff rename it and rank customers", async () => {
    const { signIn } = await ask<{ signIn: { accessToken: string } }>("SignIn", {
      input: { username, password: PASSWORD },
    });
    const staff = signIn.accessToken;
    const { createProductCategory } = await ask<{ createProductCategory: { productCategory: { id: string } } }>(
      "W04CreateProductCategory",
      { name: "Bells" },
      staff,
    );
    const { createProductTag } = await ask<{ createProductTag: { productTag: { id: string } } }>(
      "W07CreateProductTag",
      { name: "brisk" },
      staff,
    );
    const made = { categoryId: createProductCategory.productCategory.id, tagIds: [createProductTag.productTag.id] };
    await ask("W10CreateProduct", { ...made, price: { amount: "12.50", currencyCode: "EUR" } }, staff);

    await page.goto(`${server.url}/shop`);
    await page.getByRole("link", { name: "Bells", exact: true }).click();
    await page.getByRole("link", { name: "A product from the playground" }).click();
    await page.getByRole("button", { name: "Add to cart", exact: true }).waitFor();
    await addToCart(page, 2);
    await page.getByRole("link", { name: "Sign in to check out" }).click();
    const emailAddress = await signUpCustomer(page);
    await fillAddress(page);
    await page.getByRole("button", { name: "Deliver to this address" }).click();
    await placeOrder(page);
    await page.getByText("€25.00").first().waitFor();
    await page.getByRole("link", { name: "All orders" }).click();
    await page.getByRole("button", { name: "Order again" }).click();
    await page.getByRole("heading", { level: 1, name: "Cart" }).waitFor();
    await page.getByRole("link", { name: "Orders", exact: true }).click();
    await page.getByRole("button", { name: "Cancel order" }).click();
    await page.getByRole("group", { name: "Cancel this order?" }).getByRole("button", { name: "Cancel order" }).click();
    await page.getByText("Cancelled just now").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("link", { name: "Sign in to the shop" }).click();
    await page.getByLabel("E-mail address").fill(emailAddress);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    await page.getByRole("link", { name: /^Cart/ }).click();
    await page.getByRole("link", { name: "Check out" }).click();
    await page.getByRole("button", { name: "Deliver to this address" }).click();
    await placeOrder(page);
    await changeCustomerAccount(page, emailAddress);
    await sellAndShip(page);

    for (const [item, name] of [
      [made.categoryId, "Horns"],
      [made.tagIds[0], "calm"],
    ] as const) {
      await page.getByRole("link", { name: "Staff", exact: true }).click();
      await page.getByRole("link", { name: "Names", exact: true }).click();
      await page.getByLabel("Category or tag").selectOption(item ?? null);
      await page.getByLabel("New name").fill(name);
      await page.getByRole("button", { name: "Rename" }).click();
      await page.getByText("Done. The new name is shown everywhere.").waitFor();
      await page.getByRole("link", { name, exact: true }).click();
      await page.getByRole("heading", { level: 1, name }).waitFor();
    }
    await page.getByRole("link", { name: "Ranking", exact: true }).click();
    await showCosts(page);
    await page.locator(".ranking ol").nth(1).waitFor();
    await page.getByRole("link", { name: "Blog", exact: true }).click();
  });

  test("renames herself, changes her password, signs out and in again", async () => {
    await page.getByRole("link", { name: username, exact: true }).first().click();
    await page.getByRole("link", { name: "Account settings" }).click();
    await page.getByRole("button", { name: "Change username" }).click();
    username = `${username}x`;
    await page.getByLabel("New username").fill(username);
    await page.getByRole("button", { name: "Change username" }).click();
    await page.getByText("Done. Your new name is shown everywhere.").waitFor();
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByLabel("Current password").fill(PASSWORD);
    await page.getByLabel("New password").fill(NEW_PASSWORD);
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.getByText("Your password is changed.").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("link", { name: "Sign in" }).first().click();
    await page.getByLabel("Username").fill(username);
    await page.getByLabel("Password").fill(NEW_PASSWORD);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("link", { name: username, exact: true }).first().waitFor();
  });

  test("compares, and looks at the projections", async () => {
    await page.goto(`${server.url}/compare`);
    await page.locator(".compare-operations").waitFor();
    await page.goto(`${server.url}/operations`);
    await page.getByText("Every copy is up to date.").waitFor();
  });

  test("deletes", async () => {
    await page.getByRole("link", { name: username, exact: true }).first().click();
    await page.locator(".post-card h2 a").first().click();
    await page.getByRole("button", { name: "Delete" }).first().click();
    await page
      .getByRole("group", { name: /Delete this post/ })
      .getByRole("button", { name: "Delete" })
      .click();
    await page.getByText("You have not written anything yet").waitFor();
  });

  test("suspends an account, and ends the suspension", async () => {
    await page.getByRole("link", { name: "Blog", exact: true }).click();
    await page.getByRole("link", { name: otherName, exact: true }).first().click();
    await page.getByRole("button", { name: "Suspend account" }).click();
    await page.getByLabel("Reason").fill("Too many advertisements.");
    await page.getByRole("button", { name: "Suspend account" }).click();
    await page.getByRole("link", { name: "Moderation log" }).click();
    await page.getByText("Too many advertisements.").waitFor();
    await page.getByRole("link", { name: otherName, exact: true }).first().click();
    await page.getByRole("button", { name: "End the suspension" }).click();
    await page.getByRole("button", { name: "End the suspension" }).click();
    await page.getByRole("button", { name: "Suspend account" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
  });

  test("a user downloads the data, and deletes the account", async () => {
    const leaving = await signUp(page);
    await page.getByRole("link", { name: leaving, exact: true }).first().click();
    await page.getByRole("link", { name: "Account settings" }).click();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    expect((await download).suggestedFilename()).toBe(`${leaving}.json`);
    await page.getByRole("button", { name: "Delete account" }).click();
    await page.getByLabel("Your password").fill(PASSWORD);
    await page.getByRole("button", { name: "Delete my account" }).click();
    await page.getByRole("heading", { level: 1, name: "Your account has been deleted" }).waitFor();
  });

  test("nothing was refused, and nothing went wrong", () => {
    expect(refusals).toEqual([]);
    expect(conduct.errors).toEqual([]);
    expect(conduct.foreignRequests).toEqual([]);
  });

  test("the playground says that it runs its examples alone, and does", async () => {
    await leave(page);
    ({ page, conduct } = await openPage(browser, "/graphiql", { url: server.url, expectedStatuses: [400], watch }));
    await page.getByText("This server runs trusted documents only").waitFor();
    await page.locator(".graphiql-query-editor .view-line").first().waitFor();
    const results = page.locator(".result-window .view-lines");
    const run = page.getByRole("button", { name: /^Execute query/ });
    await run.click();
    await results.filter({ hasText: "By another" }).waitFor();
    await page.locator(".graphiql-query-editor").click();
    await page.keyboard.press("ControlOrMeta+A");
    await page.keyboard.insertText("query Typed { viewer { id } }");
    await page.locator(".graphiql-tab-button").filter({ hasText: "Typed" }).waitFor();
    await run.click();
    await results.filter({ hasText: "trusted documents only" }).waitFor();
    expect(conduct.errors).toEqual([]);
  });

  test("searches posts and products, and sees the authors and older posts", async () => {
    for (const [path, name, words] of [
      ["/search", "SearchPosts", "Words in the title"],
      ["/shop/search", "SearchProducts", "Words in the name"],
      ["/authors", "Authors", null],
    ] as const) {
      const answered = page.waitForResponse(
        (response) => response.url().endsWith("/graphql") && nameIn(response.request().postData() ?? "") === name,
      );
      await page.goto(`${server.url}${path}`);
      if (words !== null) {
        await page.getByLabel(words).fill("x");
        await page.getByLabel(words).press("Enter");
      }
      expect(await (await answered).json(), name).not.toHaveProperty("errors");
    }
    // The page asks for them behind the 100 posts of the feed.
    interface Feed {
      feed: { pageInfo: { endCursor: string | null } };
    }
    const { feed } = await ask<Feed>("Feed", { first: 1 });
    await ask("OlderPosts", { first: 20, after: feed.pageInfo.endCursor });
    sent.add("OlderPosts");
  });

  test("every operation of the pages was sent", () => {
    const unsent = [...documents.keys()].filter((name) => !sent.has(name));
    expect(unsent.filter((name) => !OF_PRODUCTS.includes(name) && !EXAMPLE.test(name))).toEqual([]);
  });
});

/** Staff has to be there before a server in production lists it: the id of a user who signs up. */
async function signedUpStaff(data: string, username: string): Promise<string> {
  const before = await startServer({ binary, data });
  const { createUser } = await request<{ createUser: { user: { id: string } } }>(
    "mutation($input: CreateUserInput!) { createUser(input: $input) { user { id } } }",
    { input: { username, password: PASSWORD } },
    { url: before.url },
  );
  await before.stop();
  return createUser.user.id;
}

/** Adds, changes and withdraws a product as staff, and ships the order of the only customer. */
async function sellAndShip(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Staff", exact: true }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("Horn, red");
  await page.getByLabel("Description").fill("Loud.");
  await page.getByLabel("Price").fill("5.00");
  await page.getByLabel("Item number").fill("HO-1");
  await page.getByRole("button", { name: "Add product" }).click();
  await page.getByRole("link", { name: "Horn, red" }).click();
  await page.getByRole("link", { name: "Edit", exact: true }).click();
  await page.getByLabel("Price").fill("6.00");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  await page.getByRole("button", { name: "Withdraw product" }).click();
  await page.getByRole("button", { name: "Withdraw product" }).click();
  await page.waitForURL("**/shop/category/**");
  await page.getByRole("link", { name: "Staff", exact: true }).click();
  await page.getByRole("link", { name: "Shipping", exact: true }).click();
  // The ranking follows the order within moments.
  const customers = page.locator(".staff-customers a");
  const countAfterReload = async (): Promise<number> => {
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Ship orders" }).waitFor();
    return customers.count();
  };
  await expect.poll(countAfterReload, { timeout: 20_000 }).toBe(1);
  await customers.click();
  await page.getByRole("button", { name: "Mark as shipped" }).click();
  await page.getByText("Shipped just now").waitFor();
}

/** Changes password and address of the signed-in customer, and signs out of all browsers. */
async function changeCustomerAccount(page: Page, emailAddress: string): Promise<void> {
  await page.getByRole("link", { name: "Eva Stone" }).click();
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByLabel("Current password").fill(PASSWORD);
  await page.getByLabel("New password").fill(NEW_PASSWORD);
  await page.getByRole("button", { name: "Change the password" }).click();
  await page.getByText("Your password is changed.").waitFor();
  await page.getByRole("button", { name: "Change e-mail address" }).click();
  await page.getByLabel("New e-mail address").fill(`new.${emailAddress}`);
  await page.getByLabel("Password").fill(NEW_PASSWORD);
  await page.getByRole("button", { name: "Change the e-mail address" }).click();
  await page.getByText(`new.${emailAddress}`).waitFor();
  await page.getByRole("button", { name: "Sign out of all browsers" }).click();
  await page.getByRole("heading", { name: "Sign in to see your account" }).waitFor();
}

function operationOf(text: string): string | undefined {
  return OPERATION.exec(text)?.[1];
}

/** The operation in a request, or in a message of a live connection. */
function nameIn(text: string): string {
  const { query, payload } = JSON.parse(text) as { query?: string; payload?: { query?: string } };
  return operationOf(query ?? payload?.query ?? "") ?? "";
}
