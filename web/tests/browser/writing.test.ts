/**
 * Writing with an account: from signing up to deleting, by mouse, by keyboard, and with errors in between.
 */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { baseUrl, launchBrowser, leave, openPage, type Conduct, type OpenOptions } from "./browser.js";
import { author, endSessionElsewhere, freshName, PASSWORD, signUp } from "./people.js";

let browser: Browser;
let page: Page;
let conduct: Conduct;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser.close();
});

afterEach(async () => {
  expect(conduct.errors).toEqual([]);
  expect(conduct.foreignRequests).toEqual([]);
  await leave(page);
});

async function open(path: string, options?: OpenOptions): Promise<void> {
  ({ page, conduct } = await openPage(browser, path, options));
}

describe("a user with an account", () => {
  test("writes a post over a reload, edits it, and deletes it", async () => {
    await open("/");
    await signUp(page);
    await page.getByRole("link", { name: "Write" }).click();
    await page.getByLabel("Title").fill("A post with *stars*");
    await page.getByLabel("Text").fill("Some **bold** words.\n\n<script>alert(1)</script>");
    await page.reload();
    expect(await page.getByLabel("Title").inputValue()).toBe("A post with *stars*");
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByRole("heading", { level: 1, name: "A post with *stars*" }).waitFor();
    expect(await page.locator(".post .markdown strong").innerText()).toBe("bold");
    expect(await page.locator(".post .markdown").innerText()).toContain("<script>alert(1)</script>");

    await page.getByRole("link", { name: "Blog" }).click();
    expect(await page.locator(".post-card h2").first().innerText()).toBe("A post with *stars*");
    await page.locator(".post-card h2 a").first().click();

    await page.getByRole("link", { name: "Edit" }).click();
    await page.getByLabel("Title").fill("Edited");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { level: 1, name: "Edited" }).waitFor();

    await page.getByRole("button", { name: "Delete" }).click();
    await page
      .getByRole("group", { name: "Delete this post and its comments?" })
      .getByRole("button", { name: "Delete" })
      .click();
    await page.getByText("You have not written anything yet").waitFor();
    await page.getByRole("link", { name: "Blog" }).click();
    await page.locator(".post-card").first().waitFor();
    expect(await page.locator(".post-card h2").filter({ hasText: "Edited" }).count()).toBe(0);
  });

  test("gives a post tags, finds it by them, and takes one away", async () => {
    await open("/");
    await signUp(page);
    await page.getByRole("link", { name: "Write" }).click();
    await page.getByLabel("Title").fill("About engines");
    await page.getByLabel("Text").fill("They turn.");
    await page.getByLabel("Tags").fill("Steam, #c++ a/b");
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByText(/tags must have 1 to 30 letters, digits/i).waitFor();
    await page.getByLabel("Tags").fill("Steam, #c++");
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByRole("heading", { level: 1, name: "About engines" }).waitFor();
    const postPath = new URL(page.url()).pathname;

    await page.getByRole("link", { name: "c++", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "#c++" }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/tags/c%2B%2B");
    await page.locator(".post-card h2").filter({ hasText: "About engines" }).waitFor();
    await page.reload();
    await page.locator(".post-card h2 a").filter({ hasText: "About engines" }).first().click();

    await page.getByRole("link", { name: "Edit" }).click();
    await page.getByLabel("Tags").fill("steam");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".post .tag-links").waitFor();
    expect(await page.locator(".post .tag-links").innerText()).toBe("steam");
    await open("/tags/never-used");
    await page.getByRole("heading", { name: "No posts with this tag yet" }).waitFor();
    await page.goto(`${new URL(page.url()).origin}${postPath}`);
    await page.getByRole("heading", { level: 1, name: "About engines" }).waitFor();
  });

  test("sees what was changed elsewhere while she edits, and chooses", async () => {
    await open("/");
    await signUp(page);
    await page.getByRole("link", { name: "Write" }).click();
    await page.getByLabel("Title").fill("Edited in two tabs");
    await page.getByLabel("Text").fill("The first text.");
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByRole("link", { name: "Edit" }).click();
    await page.getByLabel("Text").fill("Typed here.");

    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.getByRole("button", { name: "Discard changes" }).click();
    await other.getByLabel("Title").fill("Renamed elsewhere");
    await other.getByLabel("Text").fill("Written elsewhere.");
    await other.getByRole("button", { name: "Save" }).click();
    await other.getByRole("heading", { level: 1, name: "Renamed elsewhere" }).waitFor();
    await other.close();

    await page.getByLabel("Text").fill("Typed here, on and on.");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("This post was changed elsewhere before you saved.").waitFor();
    await page.getByRole("heading", { name: "The text was changed elsewhere" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "The text was changed elsewhere" }).waitFor();
    expect(await page.locator(".edit-saved").innerText()).toBe("Written elsewhere.");
    expect(await page.getByLabel("Text", { exact: true }).inputValue()).toBe("Typed here, on and on.");
    expect(await page.getByLabel("Title", { exact: true }).inputValue()).toBe("Renamed elsewhere");
    expect(await page.getByRole("button", { name: "Save", exact: true }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Keep my version" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { level: 1, name: "Renamed elsewhere" }).waitFor();
    await page.locator(".post .markdown").filter({ hasText: "Typed here, on and on." }).waitFor();
  });

  test("likes, comments and deletes the comment, and pages through many comments", async () => {
    const writer = await author();
    const postId = await writer.post("To be talked about");
    for (let comment = 1; comment <= 22; comment += 1) {
      await writer.comment(postId, `Comment ${comment}`);
    }
    await open(`/posts/${postId}`);
    await signUp(page);
    await page.getByRole("button", { name: "Like" }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/posts/${postId}`);
    await page.getByRole("button", { name: "Like" }).click();
    await page.getByRole("button", { name: "Liked", pressed: true }).waitFor();
    await page.getByText("1 like", { exact: true }).waitFor();

    expect(await page.locator(".comment").count()).toBe(20);
    await page.getByRole("button", { name: "Show more comments" }).click();
    await page.getByText("Comment 22", { exact: true }).waitFor();
    await page.getByLabel("Your comment").fill("Comment 23");
    await page.getByRole("button", { name: "Comment", exact: true }).click();
    await page.locator(".comment").filter({ hasText: "Comment 23" }).waitFor();
    await page.getByRole("heading", { name: "23 comments" }).waitFor();
    expect(await page.getByLabel("Your comment").inputValue()).toBe("");

    const mine = page.locator(".comment").filter({ hasText: "Comment 23" });
    await mine.getByRole("button", { name: "Delete" }).click();
    await mine.getByRole("group").getByRole("button", { name: "Delete" }).click();
    await mine.waitFor({ state: "detached" });
    await page.getByRole("heading", { name: "22 comments" }).waitFor();

    await page.getByRole("button", { name: "Liked" }).click();
    await page.getByText("0 likes", { exact: true }).waitFor();
  });

  test("renames herself and sees the name travel", async () => {
    await open("/");
    const username = await signUp(page);
    await page.getByRole("link", { name: "Write" }).click();
    await page.getByLabel("Title").fill("By a name");
    await page.getByLabel("Text").fill("That will change.");
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByRole("heading", { level: 1, name: "By a name" }).waitFor();
    await page.getByRole("link", { name: username, exact: true }).first().click();
    await page.getByRole("link", { name: "Account settings" }).click();
    await page.getByRole("button", { name: "Change username" }).click();
    await page.getByLabel("New username").fill(`${username}x`);
    await page.getByRole("button", { name: "Change username" }).click();
    await page.getByText("Done. Your new name is shown everywhere.").waitFor();
    await page.getByRole("link", { name: `${username}x`, exact: true }).click();
    await page.getByRole("heading", { level: 1, name: `${username}x` }).waitFor();
    await page.locator(".post-card").filter({ hasText: "By a name" }).waitFor();
  });

  test("sees an error at its field", async () => {
    await open("/signin");
    await page.getByRole("button", { name: "Sign up" }).click();
    await page.getByLabel("Username").fill("a");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign up", exact: true }).click();
    await page.getByText("Usernames must have 3 to 30 characters; this one has 1.").waitFor();
    expect(await page.getByLabel("Username").getAttribute("aria-invalid")).toBe("true");
    await page.getByLabel("Username").fill(freshName());
    await page.getByRole("button", { name: "Sign up", exact: true }).click();
    await page.getByRole("link", { name: "Write" }).click();
    await page.getByLabel("Title").fill("x".repeat(203));
    await page.getByText("3 too many").waitFor();
    await page.getByLabel("Text").fill("Short.");
    expect(await page.getByRole("button", { name: "Publish" }).isDisabled()).toBe(true);
  });

  test("signs in again when the session has ended, and the comment goes on", async () => {
    const postId = await (await author()).post("For later");
    await open(`/posts/${postId}`, { expectedStatuses: [401] });
    await signUp(page);
    await page.getByLabel("Your comment").fill("Typed before the session ended.");
    await endSessionElsewhere(page);
    await page.getByRole("button", { name: "Comment", exact: true }).click();
    await page.getByRole("dialog", { name: "Sign in again" }).waitFor();
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.locator(".comment").filter({ hasText: "Typed before the session ended." }).waitFor();
  });

  test("stays signed in when the page is loaded again, and no script can read a token", async () => {
    await open("/");
    const username = await signUp(page);
    const renewal = page.waitForResponse((response) => response.url().endsWith("/session"));
    await page.reload();
    await page.getByRole("link", { name: username, exact: true }).first().waitFor();
    const { accessToken } = (await (await renewal).json()) as { accessToken: string };
    const [cookie] = await page.context().cookies(`${baseUrl}/session`);
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict", path: "/session" });
    const readable = await page.evaluate(
      () =>
        [localStorage, sessionStorage].map((storage) => JSON.stringify(Object.entries(storage))).join() +
        document.cookie,
    );
    expect(readable).toContain(username);
    for (const secret of [accessToken, accessToken.split(".")[2] ?? "", cookie?.value ?? ""]) {
      expect(secret).not.toBe("");
      expect(readable).not.toContain(secret);
    }
    await page.getByRole("button", { name: "Sign out" }).click();
    await expect.poll(() => page.context().cookies(`${baseUrl}/session`)).toEqual([]);
    const viewer = await fetch(`${baseUrl}/graphql?query={viewer{id}}`, {
      headers: { authorization: `Bearer ${accessToken}` },
    });
    expect(viewer.status).toBe(401);
  });

  test("goes on reading when the session has ended, and signs in again on demand", async () => {
    await author().then((writer) => writer.post("Still to be read"));
    await open("/", { expectedStatuses: [401] });
    const username = await signUp(page);
    await endSessionElsewhere(page);
    await page.reload();
    await page.getByText("Your session has ended.").waitFor();
    await page.locator(".post-card").first().waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
    await page.getByRole("link", { name: "Still to be read" }).first().click();
    await page.getByRole("heading", { level: 1, name: "Still to be read" }).waitFor();
    await page.getByRole("button", { name: "Sign in again" }).click();
    await page.getByRole("dialog", { name: "Sign in again" }).waitFor();
    expect(await page.evaluate(() => (document.activeElement as HTMLInputElement).type)).toBe("password");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Like" }).click();
    await page.getByLabel("Password").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByText("Your session has ended.").waitFor({ state: "detached" });
    await page.getByRole("link", { name: username, exact: true }).waitFor();
  });

  test("gives the like that led to signing in, once", async () => {
    const postId = await (await author()).post("Liked by a stranger");
    await open(`/posts/${postId}`);
    await page.getByRole("button", { name: "Like" }).click();
    await page.getByRole("button", { name: "Sign up" }).click();
    await page.getByLabel("Username").fill(freshName());
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign up", exact: true }).click();
    await page.getByRole("button", { name: "Liked", pressed: true }).waitFor();
    await page.getByText("1 like", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Liked" }).click();
    await page.getByText("0 likes", { exact: true }).waitFor();
    // The page shows it before the server has answered, and a reload drops a request that is under way.
    await page.getByRole("button", { name: "Like", pressed: false, disabled: false }).waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Like", pressed: false }).waitFor();
    await page.getByText("0 likes", { exact: true }).waitFor();
  });

  test("keeps what was typed between signing in and signing up", async () => {
    await open("/signin");
    await page.getByLabel("Username").fill("typed.once");
    await page.getByRole("button", { name: "Sign up" }).click();
    expect(await page.getByLabel("Username").inputValue()).toBe("typed.once");
  });

  test("has drafts that the next user of the browser does not see", async () => {
    await open("/");
    const username = await signUp(page);
    await page.getByRole("link", { name: "Write" }).click();
    await page.getByLabel("Text").fill("A secret diary.");
    await page.getByRole("button", { name: "Sign out" }).click();
    await signUp(page);
    await page.getByRole("link", { name: "Write" }).click();
    await page.getByLabel("Text").waitFor();
    expect(await page.getByLabel("Text").inputValue()).toBe("");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("link", { name: "Sign in" }).first().click();
    await page.getByLabel("Username").fill(username);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("link", { name: "Write" }).click();
    await page.getByLabel("Text").waitFor();
    expect(await page.getByLabel("Text").inputValue()).toBe("A secret diary.");
  });

  test("keeps the focus where she is after a comment, a question and a deletion", async () => {
    const postId = await (await author()).post("By keyboard alone");
    await open(`/posts/${postId}`);
    await signUp(page);
    const focused = (): Promise<string> =>
      page.evaluate(() => {
        const element = document.activeElement;
        return element instanceof HTMLTextAreaElement ? "textarea" : (element?.textContent ?? "");
      });
    await page.getByLabel("Your comment").fill("Said by keyboard.");
    await page.getByRole("button", { name: "Comment", exact: true }).press("Enter");
    const comment = page.locator(".comment").filter({ hasText: "Said by keyboard." });
    await comment.waitFor();
    await expect.poll(focused).toBe("textarea");
    await comment.getByRole("button", { name: "Delete" }).press("Enter");
    await comment.getByRole("group").waitFor();
    expect(await focused()).toBe("Cancel");
    await page.keyboard.press("Escape");
    await comment.getByRole("group").waitFor({ state: "detached" });
    expect(await focused()).toBe("Delete");
    await page.keyboard.press("Enter");
    await comment.getByRole("group").getByRole("button", { name: "Delete" }).press("Enter");
    await comment.waitFor({ state: "detached" });
    await expect.poll(focused).toBe("No comments yet");
  });

  test("changes the password, which signs other browsers out", async () => {
    await open("/");
    const username = await signUp(page);
    const other = await openPage(browser, "/signin", { expectedStatuses: [401] });
    await other.page.getByLabel("Username").fill(username);
    await other.page.getByLabel("Password").fill(PASSWORD);
    await other.page.getByRole("button", { name: "Sign in", exact: true }).click();
    await other.page.getByRole("link", { name: username, exact: true }).waitFor();

    await page.getByRole("link", { name: username, exact: true }).first().click();
    await page.getByRole("link", { name: "Account settings" }).click();
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByLabel("Current password").fill("not the password");
    await page.getByLabel("New password").fill("another horse battery");
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.getByText("Wrong password.").waitFor();
    await page.getByLabel("Current password").fill(PASSWORD);
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.getByText("All other browsers are signed out.").waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Change password" }).waitFor();

    await other.page.reload();
    await other.page.getByText("Your session has ended.").waitFor();
    await leave(other.page);
  });

  test("signs out, and in again, in every tab", async () => {
    await open("/");
    const username = await signUp(page);
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.getByRole("button", { name: "Sign out" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await other.getByRole("link", { name: "Sign in" }).click();
    await other.getByLabel("Username").fill(username.toUpperCase());
    await other.getByLabel("Password").fill(PASSWORD);
    await other.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("link", { name: username, exact: true }).waitFor();
  });

  test("does all of it by keyboard", async () => {
    await open("/");
    const { keyboard } = page;
    const reach = async (name: string, key = "Tab"): Promise<void> => {
      for (let presses = 0; presses < 20; presses += 1) {
        await keyboard.press(key);
        const focused = await page.evaluate(() => {
          const element = document.activeElement;
          const label =
            element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement
              ? element.labels?.[0]
              : element;
          return label?.textContent.trim() ?? "";
        });
        if (focused === name) {
          return;
        }
      }
      throw new Error(`${name} was not reached.`);
    };
    await page.locator(".post-card").first().waitFor();
    await reach("Sign in");
    await keyboard.press("Enter");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await reach("Sign up");
    await keyboard.press("Enter");
    await page.getByRole("heading", { name: "Sign up" }).waitFor();
    await reach("Username", "Shift+Tab");
    const username = freshName();
    await keyboard.type(username);
    await reach("Password");
    await keyboard.type(PASSWORD);
    await keyboard.press("Enter");
    await page.getByRole("link", { name: username, exact: true }).waitFor();
    await page.getByRole("heading", { name: "Latest posts" }).waitFor();
    await reach("Write", "Shift+Tab");
    await keyboard.press("Enter");
    await page.getByRole("heading", { name: "Write a post" }).waitFor();
    await reach("Title");
    await keyboard.type("By keyboard");
    await reach("Text");
    await keyboard.type("Not one click.");
    await reach("Publish");
    await keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "By keyboard" }).waitFor();
    await reach("Like");
    await keyboard.press("Space");
    await page.getByText("1 like", { exact: true }).waitFor();
  });
});
