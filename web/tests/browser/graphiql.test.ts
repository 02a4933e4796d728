import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { baseUrl, launchBrowser, openPage, type Conduct } from "./browser.js";

interface GraphqlResponse {
  data: Record<string, unknown> | null;
  errors?: unknown[];
  extensions?: { requestCharge?: number };
}

let browser: Browser;
let page: Page;
let conduct: Conduct;

beforeAll(async () => {
  browser = await launchBrowser();
  ({ page, conduct } = await openPage(browser, "/graphiql"));
  await page.locator(".graphiql-query-editor .view-line").first().waitFor();
});

afterAll(async () => {
  await browser.close();
});

describe("the playground", () => {
  test("opens on the feed, with a tab for every request", async () => {
    expect(await page.locator(".graphiql-tab-button").allTextContents()).toEqual([
      "Q6Feed",
      "Q1User",
      "Q2Post",
      "Q3UserPosts",
      "Q4PostComments",
      "Q5PostLikes",
      "C1CreateUser",
      "C2CreatePost",
      "C3CreateComment",
      "C4LikePost",
      "W01CreateCustomer",
      "W02UpdateCustomer",
      "W03Customer",
      "W04CreateProductCategory",
      "W05UpdateProductCategory",
      "W06ProductCategories",
      "W07CreateProductTag",
      "W08UpdateProductTag",
      "W09ProductTags",
      "W10CreateProduct",
      "W11UpdateProduct",
      "W12Products",
      "W13CreateSalesOrder",
      "W14SalesOrders",
      "W15TopCustomers",
    ]);
    const { data, errors } = await execute("Q6Feed");
    expect(errors).toBeUndefined();
    expect(data?.feed).toMatchObject({ nodes: { length: 10 } });
  });

  test.each([
    ["Q1", "Q1User", "user"],
    ["Q2", "Q2Post", "post"],
    ["Q3", "Q3UserPosts", "user"],
    ["Q4", "Q4PostComments", "post"],
    ["Q5", "Q5PostLikes", "post"],
    ["Q6", "Q6Feed", "feed"],
  ])("%s runs as it opens", async (request, operationName, field) => {
    await openExample(request);
    const { data, errors, extensions } = await execute(operationName);
    expect(errors).toBeUndefined();
    expect(data?.[field]).toBeTruthy();
    expect(extensions?.requestCharge).toBeGreaterThan(0);
    await page
      .locator(".result-window .view-lines")
      .filter({ hasText: `"${field}"` })
      .waitFor();
    await page
      .locator(".bar-charge")
      .filter({ hasText: new RegExp(`^${operationName}: [\\d,.]+ RU$`) })
      .waitFor();
  });

  test("signing up with C1 gives a token with which C2, C3 and C4 run", async () => {
    await openExample("C1");
    const signUp = await execute("C1CreateUser", { chosen: true });
    expect(signUp.errors).toBeUndefined();
    const { accessToken } = signUp.data?.createUser as { accessToken: string };
    await page.getByRole("button", { name: "Use the new token" }).click();
    expect(await page.getByLabel("Access token").inputValue()).toBe(accessToken);
    expect(await page.getByLabel("Access token").getAttribute("type")).toBe("password");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    expect(await page.getByLabel("Access token").getAttribute("type")).toBe("text");
    await page.getByRole("button", { name: "Show", exact: true }).click();

    await openExample("C2");
    const written = await execute("C2CreatePost", { chosen: true });
    expect(written.errors).toBeUndefined();
    const { post } = written.data?.createPost as { post: { id: string } };

    await ownPostIsProjected(accessToken, post.id);
    // The tab is open, and its variables follow.
    await openExample("C2");
    await page.getByRole("region", { name: "Variables" }).getByText(post.id).waitFor();
    const edited = await execute("C2UpdatePost", { chosen: true });
    expect(edited.errors).toBeUndefined();
    expect(edited.data?.updatePost).toMatchObject({
      post: { id: post.id, title: "An edited post from the playground" },
    });

    await openExample("C3");
    const commented = await execute("C3CreateComment");
    expect(commented.errors).toBeUndefined();
    expect(commented.data?.createComment).toMatchObject({
      comment: { content: "A comment from the playground." },
    });

    await openExample("C4");
    const liked = await execute("C4LikePost", { chosen: true });
    expect(liked.errors).toBeUndefined();
    expect(liked.data?.likePost).toMatchObject({ post: { viewerHasLiked: true } });
  });

  test("keeps the tabs and no token when the page is loaded again", async () => {
    const accessToken = await page.getByLabel("Access token").inputValue();
    expect(accessToken).not.toBe("");
    await tabsAreStored();
    await page.reload();
    await page.locator(".graphiql-query-editor .view-line").first().waitFor();
    expect(await page.getByLabel("Access token").inputValue()).toBe("");
    await page.getByLabel("Access token").fill(accessToken);
    expect(await page.locator(".graphiql-tab-button").count()).toBe(25);
  });

  test("shows what a subscription hears", async () => {
    await page.locator(".graphiql-query-editor").click();
    await page.keyboard.press("ControlOrMeta+A");
    await page.keyboard.insertText("subscription Live { feedChanged { title } }");
    // The editor looks for operations a moment after a change, and then names the tab.
    await page.locator(".graphiql-tab-button").filter({ hasText: "Live" }).waitFor();
    const stream = page.waitForResponse((response) => operationOf(response.request().postData()) === "Live");
    await page.getByRole("button", { name: /^Execute query/ }).click();
    expect((await stream).headers()["content-type"]).toContain("text/event-stream");
    const title = "Heard in the playground";
    const query =
      'mutation($title: String!) { createPost(input: { title: $title, content: "Live." }) { post { id } } }';
    const accessToken = await page.getByLabel("Access token").inputValue();
    await fetch(`${baseUrl}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${accessToken}` },
      body: JSON.stringify({ query, variables: { title } }),
    });
    await page.locator(".result-window .view-lines").filter({ hasText: title }).waitFor();
    await page.getByRole("button", { name: /^Stop query/ }).click();
  });

  test("asks no other host and reports no error", () => {
    expect(conduct.foreignRequests).toEqual([]);
    expect(conduct.errors).toEqual([]);
  });
});

async function openExample(request: string): Promise<void> {
  const sample = page.waitForResponse((response) => operationOf(response.request().postData()) === "PlaygroundSample");
  await page.locator(".examples").getByRole("button", { name: request }).click();
  await sample;
  await page
    .locator(".graphiql-query-editor .view-lines")
    .filter({ hasText: `# ${request}:` })
    .waitFor();
}

/** Runs an operation of the document in the editor; `chosen` where the document has several. */
async function execute(operationName: string, { chosen = false } = {}): Promise<GraphqlResponse> {
  const answer = page.waitForResponse((response) => operationOf(response.request().postData()) === operationName);
  await page.getByRole("button", { name: /^Execute query/ }).click();
  if (chosen) {
    await page.getByRole("menuitem", { name: operationName }).click();
  }
  return (await (await answer).json()) as GraphqlResponse;
}

function operationOf(body: string | null): string | undefined {
  const { query, operationName } = JSON.parse(body ?? "{}") as { query?: string; operationName?: string };
  return operationName ?? /^\s*query (\w+)/.exec(query ?? "")?.[1];
}

/** GraphiQL stores the tabs and the editors' contents a moment apart; a reload between the two adds a tab. */
async function tabsAreStored(): Promise<void> {
  await page.waitForFunction(() => {
    const { tabs, activeTabIndex } = JSON.parse(sessionStorage.getItem("graphiql:tabState") ?? '{"tabs":[]}') as {
      tabs: { query: string; variables: string }[];
      activeTabIndex: number;
    };
    const active = tabs[activeTabIndex];
    return (
      active?.query === sessionStorage.getItem("graphiql:query") &&
      active.variables === sessionStorage.getItem("graphiql:variables")
    );
  });
}

/** The copies of a user's posts follow the post through the change feed. */
async function ownPostIsProjected(accessToken: string, postId: string): Promise<void> {
  await expect
    .poll(
      async () => {
        const response = await fetch(`${baseUrl}/graphql`, {
          method: "POST",
          headers: { "content-type": "application/json", authorization: `Bearer ${accessToken}` },
          body: JSON.stringify({ query: "{ viewer { posts(first: 1) { nodes { id } } } }" }),
        });
        const { data } = (await response.json()) as { data: { viewer: { posts: { nodes: unknown[] } } } };
        return data.viewer.posts.nodes;
      },
      { timeout: 20_000 },
    )
    .toEqual([{ id: postId }]);
}
