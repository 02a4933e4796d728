/**
 * The normalising cache. A page of a connection is kept as the server sent it; writes here change the lists
 * in which the items would appear, so that no list has to be read again.
 */
import { cacheExchange, type Cache, type UpdateResolver, type Variables } from "@urql/exchange-graphcache";
import { gql, type Exchange } from "@urql/core";
import type { FeedRemovalsSubscription } from "../feed/feed.generated.js";
import type {
  CommentsAddedSubscription,
  CommentsDeletedSubscription,
  CreateCommentMutation,
  DeleteCommentMutation,
} from "../post/comments.generated.js";
import type { DeletePostMutation } from "../post/post.generated.js";
import type { CreatePostMutation } from "../write/write.generated.js";
import { currentSession } from "./session.js";

/** Without ids these live inside their parents. */
const EMBEDDED = [
  "PostConnection",
  "CommentConnection",
  "LikeConnection",
  "ModerationEntryConnection",
  "PageInfo",
  "ReadPlan",
  "StoreOperation",
  "ProjectionStatus",
  "Lease",
  "ContainerPartitions",
  "LogicalPartition",
  "CommentDeleted",
  "FeedPostRemoved",
  "Money",
  "ProductConnection",
  "CustomerConnection",
  "SalesOrderConnection",
  "SalesOrderLine",
  "CustomerAddress",
];

const RIGHTS_ON_COMMENT = gql`
  fragment RightsOnComment on Comment {
    id
    viewerCanUpdate
    viewerCanDelete
  }
`;

/** The effects of a mutation beside the items in its payload. */
export type MutationUpdates = Record<string, UpdateResolver>;

/** The cache, with the updates of further mutations. */
export function cache(mutationUpdates: MutationUpdates = {}): Exchange {
  return cacheExchange({
    keys: {
      ...Object.fromEntries(EMBEDDED.map((type) => [type, () => null])),
      // A ranking asks for no ids: where its copies differ from another, both are shown.
      Customer: ({ id }) => (id as string | undefined) ?? null,
    },
    updates: {
      Mutation: {
        ...mutationUpdates,
        createPost(result, _args, cache) {
          const post = (result as unknown as CreatePostMutation).createPost?.post;
          if (post === undefined) {
            return;
          }
          const key = cache.keyOfEntity({ __typename: "Post", id: post.id });
          prepend(cache, "Query", "feed", key);
          prepend(cache, cache.keyOfEntity({ __typename: "User", id: post.author.id }), "posts", key);
          forgetTagged(cache);
        },
        deletePost(result, _args, cache) {
          const deletedPostId = (result as unknown as DeletePostMutation).deletePost?.deletedPostId;
          if (deletedPostId === undefined) {
            return;
          }
          const post = { __typename: "Post", id: deletedPostId };
          const key = cache.keyOfEntity(post);
          const author = cache.resolve(post, "author") as string | null;
          remove(cache, "Query", "feed", key);
          remove(cache, author, "posts", key);
          forgetTagged(cache);
          cache.invalidate(post);
        },
        updatePost(_result, _args, cache) {
          forgetTagged(cache);
        },
        createComment(result, args, cache) {
          const comment = (result as unknown as CreateCommentMutation).createComment?.comment;
          if (comment !== undefined) {
            append(cache, (args as { input: { postId: string } }).input.postId, comment.id);
          }
        },
        deleteComment(result, args, cache) {
          const post = (result as unknown as DeleteCommentMutation).deleteComment?.post;
          if (post === undefined) {
            return;
          }
          const { commentId } = (args as { input: { commentId: string } }).input;
          const key = cache.keyOfEntity({ __typename: "Comment", id: commentId });
          remove(cache, cache.keyOfEntity({ __typename: "Post", id: post.id }), "comments", key);
        },
      },
      Subscription: {
        commentAdded(result, args, cache) {
          const { commentAdded } = result as unknown as CommentsAddedSubscription;
          const { postId } = args as { postId: string };
          noteRights(cache, postId, commentAdded);
          append(cache, postId, commentAdded.id);
        },
        commentDeleted(result, args, cache) {
          const { commentId } = (result as unknown as CommentsDeletedSubscription).commentDeleted;
          const post = cache.keyOfEntity({ __typename: "Post", id: (args as { postId: string }).postId });
          remove(cache, post, "comments", cache.keyOfEntity({ __typename: "Comment", id: commentId }));
        },
        feedPostRemoved(result, _args, cache) {
          const { postId } = (result as unknown as FeedRemovalsSubscription).feedPostRemoved;
          remove(cache, "Query", "feed", cache.keyOfEntity({ __typename: "Post", id: postId }));
        },
      },
    },
    optimistic: {
      likePost: (args, cache) => liked(args, cache, 1),
      unlikePost: (args, cache) => liked(args, cache, -1),
    },
  });
}

/** Posts by tag are read again: the tags of a post may have changed. */
function forgetTagged(cache: Cache): void {
  for (const { fieldName, fieldKey } of cache.inspectFields("Query")) {
    if (fieldName === "postsByTag") {
      cache.invalidate("Query", fieldKey);
    }
  }
}

/** The expected answer of the server to a like, unless it refuses. */
function liked(args: Variables, cache: Cache, change: 1 | -1) {
  const { postId } = (args as { input: { postId: string } }).input;
  const likeCount = cache.resolve({ __typename: "Post", id: postId }, "likeCount");
  return {
    __typename: change === 1 ? "LikePostPayload" : "UnlikePostPayload",
    post: {
      __typename: "Post",
      id: postId,
      likeCount: Math.max(0, Number(likeCount ?? 0) + change),
      viewerHasLiked: change === 1,
    },
  };
}

/**
 * The rights on a comment that an event brings. The live connection is anonymous, so they follow here from
 * the post and from who is signed in, until the server states them.
 */
function noteRights(cache: Cache, postId: string, { id, author }: { id: string; author: { id: string } }): void {
  if (cache.resolve({ __typename: "Comment", id }, "viewerCanDelete") === undefined) {
    const ownsPost = cache.resolve({ __typename: "Post", id: postId }, "viewerCanDelete") === true;
    const viewerCanUpdate = author.id === currentSession()?.user.id;
    const viewerCanDelete = ownsPost || viewerCanUpdate;
    cache.writeFragment(RIGHTS_ON_COMMENT, { __typename: "Comment", id, viewerCanUpdate, viewerCanDelete });
  }
}

export type Key = string | null;

interface Page {
  connection: string;
  nodes: string[];
  isFirst: boolean;
  isLast: boolean;
}

/** The pages of a connection that are known. */
function pages(cache: Cache, parent: Key, field: string): Page[] {
  if (parent === null) {
    return [];
  }
  return cache
    .inspectFields(parent)
    .filter(({ fieldName }) => fieldName === field)
    .flatMap(({ fieldKey, arguments: args }) => {
      const connection = cache.resolve(parent, fieldKey);
      if (typeof connection !== "string") {
        return [];
      }
      const pageInfo = cache.resolve(connection, "pageInfo");
      return [
        {
          connection,
          nodes: (cache.resolve(connection, "nodes") ?? []) as string[],
          isFirst: args?.after == null,
          isLast: typeof pageInfo === "string" && cache.resolve(pageInfo, "hasNextPage") === false,
        },
      ];
    });
}

/** A list that is newest first begins with it. */
export function prepend(cache: Cache, parent: Key, field: string, node: Key): void {
  for (const { connection, nodes, isFirst } of pages(cache, parent, field)) {
    if (isFirst && node !== null && !nodes.includes(node)) {
      cache.link(connection, "nodes", [node, ...nodes]);
    }
  }
}

/**
 * Comments are oldest first: where the last page is known it ends with this one; otherwise it comes with its
 * page.
 */
function append(cache: Cache, postId: string, commentId: string): void {
  const node = cache.keyOfEntity({ __typename: "Comment", id: commentId });
  const known = pages(cache, cache.keyOfEntity({ __typename: "Post", id: postId }), "comments");
  if (node === null || known.some(({ nodes }) => nodes.includes(node))) {
    return;
  }
  for (const { connection, nodes } of known.filter(({ isLast }) => isLast)) {
    cache.link(connection, "nodes", [...nodes, node]);
  }
}

export function remove(cache: Cache, parent: Key, field: string, node: Key): void {
  for (const { connection, nodes } of pages(cache, parent, field)) {
    if (node !== null && nodes.includes(node)) {
      cache.link(
        connection,
        "nodes",
        nodes.filter((other) => other !== node),
      );
    }
  }
}
