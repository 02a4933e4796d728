/** A user who writes by plain requests, for the events of subscriptions. */
import { workerUrl } from "../worker.js";

export const endpoint = `${workerUrl}/graphql`;

export const FEED = "subscription { feedChanged { id title } }";
export const POST = "subscription($id: ID!) { postChanged(id: $id) { likeCount viewerHasLiked } }";
export const CREATE_POST =
  'mutation($title: String!) { createPost(input: { title: $title, content: "Live." }) { post { id } } }';

export interface Writer {
  accessToken: string;
  post: (title: string) => Promise<string>;
  like: (postId: string) => Promise<void>;
  unlike: (postId: string) => Promise<void>;
}

let signedUp = 0;

/** Signs a user up on the server under test, or on another one. */
export async function signUp(to = endpoint): Promise<Writer> {
  const mutate = <Data>(query: string, variables: object, accessToken: string | null): Promise<Data> =>
    mutateAt<Data>(to, query, variables, accessToken);
  signedUp += 1;
  const username = `live${process.pid}x${signedUp}`;
  const { createUser } = await mutate<{ createUser: { accessToken: string } }>(
    'mutation($username: String!) { createUser(input: { username: $username, password: "a long password" }) { accessToken } }',
    { username },
    null,
  );
  const { accessToken } = createUser;
  return {
    accessToken,
    async post(title) {
      const { createPost } = await mutate<{ createPost: { post: { id: string } } }>(
        CREATE_POST,
        { title },
        accessToken,
      );
      return createPost.post.id;
    },
    async like(postId) {
      await mutate(
        "mutation($postId: ID!) { likePost(input: { postId: $postId }) { post { id } } }",
        { postId },
        accessToken,
      );
    },
    async unlike(postId) {
      await mutate(
        "mutation($postId: ID!) { unlikePost(input: { postId: $postId }) { post { id } } }",
        { postId },
        accessToken,
      );
    },
  };
}

async function mutateAt<Data>(to: string, query: string, variables: object, accessToken: string | null): Promise<Data> {
  const headers = {
    "content-type": "application/json",
    ...(accessToken === null ? {} : { authorization: `Bearer ${accessToken}` }),
  };
  const response = await fetch(to, { method: "POST", headers, body: JSON.stringify({ query, variables }) });
  const { data, errors } = (await response.json()) as { data: Data; errors?: unknown[] };
  if (errors !== undefined) {
    throw new Error(JSON.stringify(errors));
  }
  return data;
}
