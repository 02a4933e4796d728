/**
 * The end of accounts: a user downloads the data and deletes the account, and staff suspend one in one
 * browser while its user reads in another.
 */
import { readFile } from "node:fs/promises";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { launchBrowser, leave, openPage, type Conduct } from "./browser.js";
import { author, PASSWORD, request, signUp } from "./people.js";
import { signInAs, STAFF } from "./shop.js";

let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser.close();
});

async function close(page: Page, conduct: Conduct): Promise<void> {
  expect(conduct.errors).toEqual([]);
  expect(conduct.foreignRequests).toEqual([]);
  await leave(page);
}

describe("an account", () => {
  test("is downloaded, and deleted with the password alone", async () => {
    const writer = await author();
    const others = await writer.post("A post of somebody else");
    const { page, conduct } = await openPage(browser, `/posts/${others}`);
    const username = await signUp(page);
    await page.getByLabel("Your comment").fill("A comment to be downloaded.");
    await page.getByRole("button", { name: "Comment", exact: true }).click();
    await page.getByText("A comment to be downloaded.").first().waitFor();
    await page.getByRole("link", { name: username, exact: true }).first().click();
    await page.getByRole("link", { name: "Account settings" }).click();

    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`${username}.json`);
    const saved = JSON.parse(await readFile(await download.path(), "utf8")) as {
      user: { username: string };
      posts: unknown[];
      comments: { content: string; post: { title: string } }[];
    };
    expect(saved.user.username).toBe(username);
    expect(saved.posts).toEqual([]);
    expect(saved.comments).toMatchObject([
      { content: "A comment to be downloaded.", post: { title: "A post of somebody else" } },
    ]);

    await page.getByRole("button", { name: "Delete account" }).click();
    await page.getByLabel("Your password").fill("not the password");
    await page.getByRole("button", { name: "Delete my account" }).click();
    await page.getByText("Wrong password.").waitFor();
    await page.getByLabel("Your password").fill(PASSWORD);
    await page.getByRole("button", { name: "Delete my account" }).click();
    await page.getByRole("heading", { level: 1, name: "Your account has been deleted" }).waitFor();
    const { userByUsername } = await request<{ userByUsername: unknown }>(
      "query($username: String!) { userByUsername(username: $username) { id } }",
      { username },
    );
    expect(userByUsername).toBeNull();
    await page.getByRole("link", { name: "To the blog" }).click();
    await page.getByRole("link", { name: "Sign in" }).first().waitFor();
    await page.goto(new URL(`/posts/${others}`, page.url()).href);
    await page.getByRole("heading", { name: "No comments yet" }).waitFor();
    await close(page, conduct);
  });

  test("signs in again once its sign-out is answered, and stays signed in", async () => {
    const order: string[] = [];
    const { page, conduct } = await openPage(browser, "/", {
      watch: (opened) => {
        opened.on("request", (sent) => {
          if (sent.postData()?.includes("mutation SignIn") === true) {
            order.push("sign-in sent");
          }
        });
        opened.on("response", (response) => {
          if (response.request().method() === "DELETE") {
            order.push("sign-out answered");
          }
        });
      },
    });
    const username = await signUp(page);
    let letGo: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    await page.route("**/session", async (route) => {
      await held;
      await route.continue();
    });
    await page.getByRole("link", { name: username, exact: true }).first().click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("link", { name: "Sign in" }).first().click();
    await page.getByLabel("Username").fill(username);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("button", { name: "One moment…" }).waitFor();
    letGo();
    await page.getByRole("link", { name: username, exact: true }).first().waitFor();
    await page.reload();
    await page.getByRole("link", { name: "Write" }).first().click();
    await page.getByLabel("Title").fill("Signed in again");
    await page.getByLabel("Text").fill("A text.");
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByRole("heading", { level: 1, name: "Signed in again" }).waitFor();
    expect(order).toEqual(["sign-out answered", "sign-in sent"]);
    await close(page, conduct);
  });

  test("that staff suspend signs its reader out, and is in the log", async () => {
    const reader = await openPage(browser, "/");
    const username = await signUp(reader.page);
    await reader.page.getByRole("link", { name: username, exact: true }).first().click();
    const profile = reader.page.url();

    const staff = await openPage(browser, "/signin");
    await signInAs(staff.page, STAFF);
    await staff.page.goto(profile);
    await staff.page.getByRole("button", { name: "Suspend account" }).click();
    await staff.page.getByLabel("Reason").fill("Too many advertisements.");
    await staff.page.getByRole("button", { name: "Suspend account" }).click();
    await staff.page.getByText("This account is suspended.").waitFor();

    await reader.page.reload();
    await reader.page.getByText("Your session has ended.").waitFor();
    await reader.page.getByRole("button", { name: "Sign in again" }).click();
    const dialog = reader.page.getByRole("dialog");
    await dialog.getByLabel("Password").fill(PASSWORD);
    await dialog.getByRole("button", { name: "Sign in", exact: true }).click();
    await dialog.getByText("This account is suspended.").waitFor();
    await leave(reader.page);

    await staff.page.getByRole("link", { name: "Moderation log" }).click();
    const entry = staff.page.getByRole("listitem").filter({ hasText: username });
    expect(await entry.first().innerText()).toContain("Too many advertisements.");
    await staff.page.goto(profile);
    await staff.page.getByRole("button", { name: "End the suspension" }).click();
    await staff.page.getByRole("button", { name: "End the suspension" }).click();
    await staff.page.getByRole("button", { name: "Suspend account" }).waitFor();
    await close(staff.page, staff.conduct);
  });

  test("of staff removes a comment of another user with a reason", async () => {
    const writer = await author();
    const postId = await writer.post("A post that stays");
    await writer.comment(postId, "Buy my watches.");
    const { page, conduct } = await openPage(browser, "/signin");
    await signInAs(page, STAFF);
    await page.goto(new URL(`/posts/${postId}`, page.url()).href);
    const comment = page.locator(".comment", { hasText: "Buy my watches." });
    await comment.getByRole("button", { name: "Remove comment" }).click();
    await page.getByLabel("Reason").fill("An advertisement in a comment.");
    await page.getByRole("button", { name: "Remove comment" }).click();
    await comment.waitFor({ state: "detached" });
    await page.getByRole("heading", { name: "No comments yet" }).waitFor();
    await page.goto(new URL("/moderation", page.url()).href);
    await page.getByText("An advertisement in a comment.").waitFor();
    await close(page, conduct);
  });

  test("of staff removes a post of another user with a reason", async () => {
    const writer = await author();
    const post = await writer.post("An advertisement");
    const { page, conduct } = await openPage(browser, "/signin");
    await signInAs(page, STAFF);
    await page.goto(new URL(`/posts/${post}`, page.url()).href);
    await page.getByRole("button", { name: "Remove post" }).click();
    await page.getByLabel("Reason").fill("Advertising.");
    await page.getByRole("button", { name: "Remove post" }).click();
    await page.getByRole("heading", { level: 1, name: writer.username }).waitFor();
    await page.goto(new URL("/moderation", page.url()).href);
    await page.getByText("Advertising.").first().waitFor();
    await close(page, conduct);
  });
});
