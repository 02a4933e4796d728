/** One example document for each request of the blogging platform, and the variables it opens with. */
import c1User from "./examples/c1-user.graphql?raw";
import c2Post from "./examples/c2-post.graphql?raw";
import c3Comment from "./examples/c3-comment.graphql?raw";
import c4Like from "./examples/c4-like.graphql?raw";
import q1User from "./examples/q1-user.graphql?raw";
import q2Post from "./examples/q2-post.graphql?raw";
import q3UserPosts from "./examples/q3-user-posts.graphql?raw";
import q4PostComments from "./examples/q4-post-comments.graphql?raw";
import q5PostLikes from "./examples/q5-post-likes.graphql?raw";
import q6Feed from "./examples/q6-feed.graphql?raw";

/** What the examples need to know of the live data to run as they open. */
export interface Sample {
  userId: string;
  postId: string;
  /** A post of the signed-in user. */
  ownPostId: string;
  /** A username that is free. */
  freeUsername: string;
}

export interface Example {
  request: "Q1" | "Q2" | "Q3" | "Q4" | "Q5" | "Q6" | "C1" | "C2" | "C3" | "C4";
  title: string;
  document: string;
  variables: (sample: Sample) => Record<string, unknown>;
}

/** The first is the one the playground opens on: it runs on any data and needs no id. */
export const examples: readonly [Example, ...Example[]] = [
  {
    request: "Q6",
    title: "The newest posts",
    document: q6Feed,
    variables: () => ({ first: 10, model: "V3" }),
  },
  {
    request: "Q1",
    title: "A user",
    document: q1User,
    variables: ({ userId }) => ({ userId, model: "V3" }),
  },
  {
    request: "Q2",
    title: "A post",
    document: q2Post,
    variables: ({ postId }) => ({ postId, model: "V3" }),
  },
  {
    request: "Q3",
    title: "A user’s posts",
    document: q3UserPosts,
    variables: ({ userId }) => ({ userId, first: 20, model: "V3" }),
  },
  {
    request: "Q4",
    title: "A post’s comments",
    document: q4PostComments,
    variables: ({ postId }) => ({ postId, first: 20, model: "V3" }),
  },
  {
    request: "Q5",
    title: "A post’s likes",
    document: q5PostLikes,
    variables: ({ postId }) => ({ postId, first: 20, model: "V3" }),
  },
  {
    request: "C1",
    title: "Sign up, sign in, rename",
    document: c1User,
    variables: ({ freeUsername }) => ({
      username: freeUsername,
      password: "one-hop-is-enough",
      newUsername: `${freeUsername}2`,
    }),
  },
  {
    request: "C2",
    title: "Write, edit, delete a post",
    document: c2Post,
    variables: ({ ownPostId }) => ({
      title: "A post from the playground",
      content: "Written once, copied by the change feed to where it is read.",
      ownPostId,
      newTitle: "An edited post from the playground",
    }),
  },
  {
    request: "C3",
    title: "Comment on a post",
    document: c3Comment,
    variables: ({ postId }) => ({ postId, content: "A comment from the playground." }),
  },
  {
    request: "C4",
    title: "Like a post, or unlike it",
    document: c4Like,
    variables: ({ postId }) => ({ postId }),
  },
];

/** An example's variables as the variables editor shows them. */
export function variablesText(example: Example, sample: Sample): string {
  return JSON.stringify(example.variables(sample), null, 2);
}
