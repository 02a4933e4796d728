// The writes of the blog on Mercurius (with its JIT) and PostgreSQL: one prepared statement for each command.

import { randomBytes, randomUUID } from "node:crypto";
import { createSigner, createVerifier } from "fast-jwt";
import Fastify from "fastify";
import mercurius from "mercurius";
import pg from "pg";

const CONNECTIONS = 16;

const schema = `
  type Query { postIds: [ID!]! }
  type Mutation {
    createUser(input: CreateUserInput!): CreateUserPayload!
    createPost(input: CreatePostInput!): CreatePostPayload!
    createComment(input: CreateCommentInput!): CreateCommentPayload!
    likePost(input: LikePostInput!): LikePostPayload!
  }
  input CreateUserInput { username: String! password: String! }
  input CreatePostInput { title: String! content: String! }
  input CreateCommentInput { postId: ID! content: String! }
  input LikePostInput { postId: ID! }
  type CreateUserPayload { accessToken: String! }
  type CreatePostPayload { post: Post! }
  type CreateCommentPayload { comment: Comment! }
  type LikePostPayload { like: Like! post: Post! }
  type Post { id: ID! title: String! creationDate: String! likeCount: Int! commentCount: Int! }
  type Comment { id: ID! content: String! creationDate: String! }
  type Like { id: ID! creationDate: String! }
`;

const pool = new pg.Pool({ max: CONNECTIONS });
const key = randomBytes(32);
const sign = createSigner({ key, expiresIn: 86_400_000 });
const verify = createVerifier({ key, cache: true });

// Each statement is parsed and planned once for each connection.
const run = (name, text, values) => pool.query({ name, text, values });

function caller(context) {
  if (!context.token) throw new Error("Sign in first.");
  return verify(context.token).sub;
}

function checked(name, text, most) {
  const length = [...text.trim()].length;
  if (length < 1 || length > most) throw new Error(`${name} has 1 to ${most} characters.`);
  return text;
}

const resolvers = {
  Query: {
    postIds: async () => (await pool.query("SELECT id FROM posts")).rows.map((row) => row.id),
  },
  Mutation: {
    createUser: async (_, { input }) => {
      const id = randomUUID();
      await pool.query("INSERT INTO users (id, username) VALUES ($1, $2)", [id, input.username]);
      return { accessToken: sign({ sub: id }) };
    },
    createPost: async (_, { input }, context) => {
      const id = randomUUID();
      const title = checked("title", input.title, 200);
      const content = checked("content", input.content, 100_000);
      const { rows } = await run(
        "create-post",
        "INSERT INTO posts (id, author, title, content) VALUES ($1, $2, $3, $4) RETURNING creation_date",
        [id, caller(context), title, content],
      );
      return { post: { id, title, creationDate: rows[0].creation_date.toISOString() } };
    },
    createComment: async (_, { input }, context) => {
      const id = randomUUID();
      const content = checked("content", input.content, 10_000);
      const { rows } = await run(
        "create-comment",
        `WITH post AS (UPDATE posts SET comment_count = comment_count + 1 WHERE id = $2 RETURNING id)
         INSERT INTO comments (id, post, author, content) SELECT $1, id, $3, $4 FROM post
         RETURNING creation_date`,
        [id, input.postId, caller(context), content],
      );
      if (rows.length === 0) throw new Error("There is no such post.");
      return { comment: { id, content, creationDate: rows[0].creation_date.toISOString() } };
    },
    likePost: async (_, { input }, context) => {
      const user = caller(context);
      const { rows } = await run(
        "like-post",
        `WITH liked AS (INSERT INTO likes (post, liker) VALUES ($1, $2) RETURNING creation_date),
              post AS (UPDATE posts SET like_count = like_count + 1 WHERE id = $1 RETURNING like_count, title)
         SELECT * FROM liked, post`,
        [input.postId, user],
      );
      const { creation_date, like_count, title } = rows[0];
      return {
        like: { id: `${input.postId}:${user}`, creationDate: creation_date.toISOString() },
        post: { id: input.postId, title, likeCount: like_count },
      };
    },
  },
};

const app = Fastify();
app.register(mercurius, {
  schema,
  resolvers,
  jit: 1,
  context: (request) => ({ token: request.headers.authorization?.slice("Bearer ".length) }),
});
console.log(await app.listen({ host: "127.0.0.1", port: 0 }));
