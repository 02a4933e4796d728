/** Users of the pages in a test: sign-ups and writes by plain requests. */
import type { Page } from "playwright-core";
import { baseUrl } from "./browser.js";

export const PASSWORD = "one-hop-is-enough";

let signedUp = 0;

/** A username that is free. */
export function freshName(): string {
  signedUp += 1;
  return `reader${process.pid.toString(36)}.${Date.now().toString(36).slice(-5)}${signedUp}`;
}

/** Signs up by the page, and ends where the page leads. */
export async function signUp(page: Page, username = freshName()): Promise<string> {
  await page.getByRole("link", { name: "Sign in" }).first().click();
  return signUpHere(page, username);
}

/** Signs up on the page of signing in. */
export async function signUpHere(page: Page, username = freshName()): Promise<string> {
  await page.getByRole("button", { name: "Sign up" }).click();
  await page.getByLabel("Username").fill(username);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign up", exact: true }).click();
  await page.getByRole("link", { name: username, exact: true }).first().waitFor();
  return username;
}

/** A request without a browser. */
export async function request<Data>(
  query: string,
  variables: object = {},
  { accessToken = "", url = baseUrl }: { accessToken?: string; url?: string } = {},
): Promise<Data> {
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(accessToken === "" ? {} : { authorization: `Bearer ${accessToken}` }),
    },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = (await response.json()) as { data: Data; errors?: unknown[] };
  if (errors !== undefined) {
    throw new Error(JSON.stringify(errors));
  }
  return data;
}

/**
 * Waits until readers without an account see a post in the feed. A query of its author waits for the read
 * models, for two seconds at most.
 */
async function isInFeed(postId: string, author: { accessToken: string; url: string }): Promise<void> {
  const query = "{ feed(first: 100) { nodes { id } } }";
  for (;;) {
    const { feed } = await request<{ feed: { nodes: { id: string }[] } }>(query, {}, author);
    if (feed.nodes.some(({ id }) => id === postId)) {
      return;
    }
  }
}

/** A user who writes without a browser. */
export async function author(url = baseUrl): Promise<{
  username: string;
  post: (title: string, content?: string) => Promise<string>;
  comment: (postId: string, content: string) => Promise<void>;
  like: (postId: string) => Promise<void>;
  deletePost: (postId: string) => Promise<void>;
}> {
  const username = freshName();
  const { createUser } = await request<{ createUser: { accessToken: string } }>(
    "mutation($input: CreateUserInput!) { createUser(input: $input) { accessToken } }",
    { input: { username, password: PASSWORD } },
    { url },
  );
  const as = { accessToken: createUser.accessToken, url };
  return {
    username,
    post: async (title, content = "A text.") => {
      const { createPost } = await request<{ createPost: { post: { id: string } } }>(
        "mutation($input: CreatePostInput!) { createPost(input: $input) { post { id } } }",
        { input: { title, content } },
        as,
      );
      await isInFeed(createPost.post.id, as);
      return createPost.post.id;
    },
    comment: async (postId, content) => {
      await request(
        "mutation($input: CreateCommentInput!) { createComment(input: $input) { post { id } } }",
        { input: { postId, content } },
        as,
      );
    },
    like: async (postId) => {
      await request(
        "mutation($input: LikePostInput!) { likePost(input: $input) { post { id } } }",
        { input: { postId } },
        as,
      );
    },
    deletePost: async (postId) => {
      await request(
        "mutation($input: DeletePostInput!) { deletePost(input: $input) { deletedPostId } }",
        { input: { postId } },
        as,
      );
    },
  };
}

/** Signs out behind the page's back, as another tab without notification would. */
export async function endSessionElsewhere(page: Page): Promise<void> {
  const [cookie] = await page.context().cookies(`${baseUrl}/session`);
  const headers = { origin: baseUrl, cookie: `${cookie?.name ?? ""}=${cookie?.value ?? ""}` };
  const { status } = await fetch(`${baseUrl}/session`, { method: "DELETE", headers });
  if (status !== 204) {
    throw new Error(`The sign-out was answered with ${status}.`);
  }
}
