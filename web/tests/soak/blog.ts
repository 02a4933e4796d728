/** The acts of well-behaved clients, and their memory: the server may forget none of them. */
import type { Dice } from "./dice.js";
import type { Wire } from "./wire.js";

/** The error codes that a well-behaved client may get. */
const REFUSALS = new Set([
  "CONFLICT",
  "FORBIDDEN",
  "INVALID_CREDENTIALS",
  "LIMIT_EXCEEDED",
  "NOT_FOUND",
  "UNAUTHENTICATED",
]);
const MODELS = ["V1", "V2", "V3"];
const POSTS_REMEMBERED_MAX = 500;

interface Reader {
  id: string;
  accessToken: string;
}

interface Post {
  id: string;
  title: string;
  /** Comments and likes that were acknowledged, and all comments and likes sent. */
  comments: { acknowledged: number; sent: number };
  likes: { acknowledged: number; sent: number };
}

type Data = Record<string, unknown>;
type Act = (blog: Blog, wire: Wire, dice: Dice) => Promise<unknown>;

/** The users, posts, comments and likes that clients know of. */
export class Blog {
  readonly readers: Reader[] = [];
  readonly posts: Post[] = [];
  /** Answers with data, and with a refusal. */
  answered = 0;
  refused = 0;
  #names = 0;

  /** The data of an answer; nothing when it is refused for a reason that a client has to live with. */
  async ask<Answered extends Data>(
    wire: Wire,
    query: string,
    variables: object,
    accessToken?: string,
  ): Promise<Answered | null> {
    const headers = {
      "content-type": "application/json",
      ...(accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` }),
    };
    const answer = await wire.ask({ headers, body: JSON.stringify({ query, variables }) });
    const { data, errors = [] } = JSON.parse(answer.body) as {
      data?: Answered;
      errors?: { extensions: { code: string } }[];
    };
    const unexpected = errors.find(({ extensions }) => !REFUSALS.has(extensions.code));
    if (unexpected !== undefined || answer.status >= 500) {
      throw new Error(`${query} is answered with ${answer.status}: ${answer.body}`);
    }
    if (errors.length > 0 || data === undefined) {
      this.refused += 1;
      return null;
    }
    this.answered += 1;
    return data;
  }

  async signUp(wire: Wire): Promise<void> {
    this.#names += 1;
    const query =
      'mutation($username: String!) { createUser(input: { username: $username, password: "a long password" }) { user { id } accessToken } }';
    const data = await this.ask<{ createUser: { user: { id: string }; accessToken: string } }>(wire, query, {
      username: `reader.${this.#names}`,
    });
    if (data !== null) {
      this.readers.push({ id: data.createUser.user.id, accessToken: data.createUser.accessToken });
    }
  }

  async post(wire: Wire, dice: Dice): Promise<string | null> {
    const title = `Post ${dice.roll(1_000_000)}`;
    const query =
      'mutation($title: String!) { createPost(input: { title: $title, content: "To be read." }) { post { id } } }';
    const data = await this.ask<{ createPost: { post: { id: string } } }>(
      wire,
      query,
      { title },
      dice.pick(this.readers).accessToken,
    );
    if (data === null) {
      return null;
    }
    const { id } = data.createPost.post;
    this.posts.push({ id, title, comments: { acknowledged: 0, sent: 0 }, likes: { acknowledged: 0, sent: 0 } });
    if (this.posts.length > POSTS_REMEMBERED_MAX) {
      this.posts.splice(dice.roll(this.posts.length), 1);
    }
    return id;
  }

  async count(wire: Wire, dice: Dice, what: "comments" | "likes"): Promise<void> {
    const post = dice.pick(this.posts);
    const query =
      what === "likes"
        ? "mutation($postId: ID!) { likePost(input: { postId: $postId }) { post { id } } }"
        : 'mutation($postId: ID!) { createComment(input: { postId: $postId, content: "Read." }) { post { id } } }';
    post[what].sent += 1;
    const data = await this.ask(wire, query, { postId: post.id }, dice.pick(this.readers).accessToken);
    if (data !== null) {
      post[what].acknowledged += 1;
    }
  }

  /** Whether each post that was acknowledged is there, with each comment and like. */
  async check(wire: Wire): Promise<void> {
    for (const { id, title, comments, likes } of this.posts) {
      const query = "query($id: ID!) { post(id: $id) { title commentCount likeCount } }";
      type Found = { title: string; commentCount: number; likeCount: number } | null;
      const data = await this.ask<{ post: Found }>(wire, query, { id }, this.readers[0]?.accessToken);
      const within = (count: number, { acknowledged, sent }: Post["likes"]): boolean =>
        acknowledged <= count && count <= sent;
      const found = data?.post;
      if (found?.title !== title || !within(found.commentCount, comments) || !within(found.likeCount, likes)) {
        throw new Error(`${JSON.stringify(found)} was written as ${JSON.stringify({ title, comments, likes })}`);
      }
    }
  }
}

async function postAndDelete(blog: Blog, wire: Wire, dice: Dice): Promise<void> {
  const { accessToken } = dice.pick(blog.readers);
  const query = 'mutation { createPost(input: { title: "Short", content: "For a moment." }) { post { id } } }';
  const data = await blog.ask<{ createPost: { post: { id: string } } }>(wire, query, {}, accessToken);
  if (data !== null) {
    const deletion = "mutation($postId: ID!) { deletePost(input: { postId: $postId }) { deletedPostId } }";
    await blog.ask(wire, deletion, { postId: data.createPost.post.id }, accessToken);
  }
}

function read(query: string): Act {
  return (blog, wire, dice) =>
    blog.ask(
      wire,
      query.replaceAll("MODEL", dice.pick(MODELS)),
      { post: dice.pick(blog.posts).id, user: dice.pick(blog.readers).id },
      dice.roll(2) === 0 ? undefined : dice.pick(blog.readers).accessToken,
    );
}

/** Each as often as it stands here. */
export const VALID: readonly Act[] = [
  (blog, wire) => blog.signUp(wire),
  (blog, wire, dice) => blog.post(wire, dice),
  (blog, wire, dice) => blog.count(wire, dice, "comments"),
  (blog, wire, dice) => blog.count(wire, dice, "comments"),
  (blog, wire, dice) => blog.count(wire, dice, "likes"),
  (blog, wire, dice) => blog.count(wire, dice, "likes"),
  postAndDelete,
  read("{ feed(first: 20, model: MODEL) { nodes { title author { username } } } }"),
  read("{ feed(first: 100) { nodes { title content commentCount likeCount } } }"),
  read(
    "query($user: ID!) { user(id: $user, model: MODEL) { username posts(first: 20) { nodes { title likeCount } } } }",
  ),
  read(
    "query($post: ID!) { post(id: $post, model: MODEL) { content comments(first: 20) { nodes { content } } likes(first: 20) { nodes { id } } } }",
  ),
  read("query($post: ID!) { comparison(request: Q4, id: $post) { model requestCharge } }"),
  read("{ viewer { username } }"),
];
