import { Client, fetchExchange, subscriptionExchange } from "@urql/core";
import { describe, expect, test } from "vitest";
import { FeedDocument, type FeedQuery } from "../feed/feed.generated.js";
import {
  CommentsAddedDocument,
  CommentsDocument,
  CreateCommentDocument,
  DeleteCommentDocument,
} from "../post/comments.generated.js";
import { LikePostDocument } from "../post/like.generated.js";
import { DeletePostDocument, PostPageDocument } from "../post/post.generated.js";
import { CreatePostDocument } from "../write/write.generated.js";
import { cache } from "./cache.js";
import { startSession } from "./session.js";

const author = { __typename: "User", id: "ada", username: "ada" };

function post(id: string, likeCount = 0) {
  return {
    __typename: "Post",
    id,
    title: id,
    summary: id,
    content: id,
    tags: [],
    version: 1,
    creationDate: "2026-01-01T00:00:00.000Z",
    commentCount: 0,
    likeCount,
    viewerHasLiked: false,
    viewerCanUpdate: false,
    viewerCanDelete: false,
    author,
  };
}

function comment(id: string) {
  const rights = { viewerCanUpdate: false, viewerCanDelete: false };
  const creationDate = "2026-01-01T00:00:00.000Z";
  return { __typename: "Comment", id, content: id, creationDate, updateDate: null, version: 1, author, ...rights };
}

/** A comment in an event, which says nothing of rights. */
function heard(id: string, authorId = "ada") {
  const { __typename, content, creationDate, updateDate, version } = comment(id);
  return { __typename, id, content, creationDate, updateDate, version, author: { ...author, id: authorId } };
}

function pageOf(type: string, nodes: unknown[], hasNextPage = false) {
  return { __typename: type, nodes, pageInfo: { __typename: "PageInfo", hasNextPage, endCursor: "end" } };
}

/** A client whose server answers each operation, by its name, with the given answers, in that order. */
function clientOf(
  answers: Record<string, unknown[]>,
  events: Record<string, unknown>[] = [],
): { client: Client; asked: string[] } {
  const asked: string[] = [];
  const client = new Client({
    url: "http://server.invalid/graphql",
    preferGetMethod: false,
    exchanges: [
      cache(),
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: () => ({
          subscribe: (sink) => {
            events.forEach((data) => {
              sink.next({ data });
            });
            return { unsubscribe: () => undefined };
          },
        }),
      }),
    ],
    fetch: (_url, init) => {
      const name = /(?:query|mutation) (\w+)/.exec(init?.body as string)?.[1] ?? "";
      asked.push(name);
      const data = answers[name]?.shift();
      const body = data === undefined ? { data: null, errors: [{ message: "Refused." }] } : { data };
      return Promise.resolve(new Response(JSON.stringify(body), { headers: { "content-type": "application/json" } }));
    },
  });
  return { client, asked };
}

const titles = (data: FeedQuery | undefined): string[] => data?.feed?.nodes.map(({ id }) => id) ?? [];

describe("the cache", () => {
  test("puts a new post first and takes a deleted one out, and asks for neither", async () => {
    const { client, asked } = clientOf({
      Feed: [{ feed: pageOf("PostConnection", [post("b"), post("a")]) }],
      CreatePost: [{ createPost: { __typename: "CreatePostPayload", post: post("c") } }],
      DeletePost: [{ deletePost: { __typename: "DeletePostPayload", deletedPostId: "a" } }],
    });
    const feed = () => client.query(FeedDocument, { first: 20 }).toPromise();
    expect(titles((await feed()).data)).toEqual(["b", "a"]);
    await client.mutation(CreatePostDocument, { input: { title: "c", content: "c" } }).toPromise();
    expect(titles((await feed()).data)).toEqual(["c", "b", "a"]);
    await client.mutation(DeletePostDocument, { input: { postId: "a" } }).toPromise();
    expect(titles((await feed()).data)).toEqual(["c", "b"]);
    expect(asked).toEqual(["Feed", "CreatePost", "DeletePost"]);
  });

  test("ends the last page of comments with a new one, once, and takes a deleted one out", async () => {
    const { client } = clientOf({
      Comments: [{ post: { __typename: "Post", id: "p", comments: pageOf("CommentConnection", [comment("1")]) } }],
      CreateComment: [
        { createComment: { __typename: "CreateCommentPayload", comment: comment("2"), post: post("p") } },
        { createComment: { __typename: "CreateCommentPayload", comment: comment("2"), post: post("p") } },
      ],
      DeleteComment: [
        { deleteComment: { __typename: "DeleteCommentPayload", deletedCommentId: "1", post: post("p") } },
      ],
    });
    const shown = async () => {
      const { data } = await client.query(CommentsDocument, { id: "p", first: 20 }).toPromise();
      return data?.post?.comments.nodes.map(({ id }) => id);
    };
    expect(await shown()).toEqual(["1"]);
    for (let sent = 0; sent < 2; sent += 1) {
      await client.mutation(CreateCommentDocument, { input: { postId: "p", content: "2" } }).toPromise();
    }
    expect(await shown()).toEqual(["1", "2"]);
    await client.mutation(DeleteCommentDocument, { input: { commentId: "1" } }).toPromise();
    expect(await shown()).toEqual(["2"]);
  });

  test("leaves a page that is not the last as it is: the new comment comes with its own", async () => {
    const { client } = clientOf({
      Comments: [
        { post: { __typename: "Post", id: "p", comments: pageOf("CommentConnection", [comment("1")], true) } },
      ],
      CreateComment: [
        { createComment: { __typename: "CreateCommentPayload", comment: comment("9"), post: post("p") } },
      ],
    });
    await client.query(CommentsDocument, { id: "p", first: 20 }).toPromise();
    await client.mutation(CreateCommentDocument, { input: { postId: "p", content: "9" } }).toPromise();
    const { data } = await client.query(CommentsDocument, { id: "p", first: 20 }).toPromise();
    expect(data?.post?.comments.nodes.map(({ id }) => id)).toEqual(["1"]);
  });

  test.each([
    ["of the author of the post, on all comments", true, [true, true]],
    ["of others, on their own comments", false, [true, false]],
  ])("gives a comment that is heard of the rights %s, and asks for nothing", async (_, ownsPost, expected) => {
    startSession({
      user: { id: "ada", username: "ada" },
      accessToken: "token",
      expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    });
    const page = pageOf("CommentConnection", [comment("1")]);
    const { client, asked } = clientOf(
      {
        PostPage: [{ post: { ...post("p"), viewerCanDelete: ownsPost, comments: page } }],
      },
      [{ commentAdded: heard("2") }, { commentAdded: heard("3", "bob") }, { commentAdded: heard("1") }],
    );
    await client.query(PostPageDocument, { id: "p", firstComments: 20 }).toPromise();
    const listening = client.subscription(CommentsAddedDocument, { postId: "p" }).subscribe(() => undefined);
    const rights = async () => {
      const { data } = await client.query(CommentsDocument, { id: "p", first: 20 }).toPromise();
      return data?.post?.comments.nodes.map((node) => [node.id, node.viewerCanDelete, node.viewerCanUpdate]);
    };
    await expect.poll(rights).toEqual([
      ["1", false, false],
      ["2", expected[0], true],
      ["3", expected[1], false],
    ]);
    expect(asked).toEqual(["PostPage"]);
    listening.unsubscribe();
  });

  test("likes at once, and takes it back when the server refuses", async () => {
    const { client } = clientOf({
      PostPage: [{ post: { ...post("p", 4), comments: pageOf("CommentConnection", []) } }],
    });
    const seen: number[] = [];
    const subscription = client
      .query(PostPageDocument, { id: "p", firstComments: 20 })
      .subscribe(({ data }) => seen.push(data?.post?.likeCount ?? -1));
    await expect.poll(() => seen.at(-1)).toBe(4);
    await client.mutation(LikePostDocument, { input: { postId: "p" } }).toPromise();
    subscription.unsubscribe();
    expect(seen).toEqual([4, 5, 4]);
  });
});
