/**
 * One example document for each request of the blogging platform and of the web store, and the variables it
 * opens with.
 */
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
import w01CreateCustomer from "./examples/w01-create-customer.graphql?raw";
import w02UpdateCustomer from "./examples/w02-update-customer.graphql?raw";
import w03Customer from "./examples/w03-customer.graphql?raw";
import w04CreateCategory from "./examples/w04-create-category.graphql?raw";
import w05UpdateCategory from "./examples/w05-update-category.graphql?raw";
import w06Categories from "./examples/w06-categories.graphql?raw";
import w07CreateTag from "./examples/w07-create-tag.graphql?raw";
import w08UpdateTag from "./examples/w08-update-tag.graphql?raw";
import w09Tags from "./examples/w09-tags.graphql?raw";
import w10CreateProduct from "./examples/w10-create-product.graphql?raw";
import w11UpdateProduct from "./examples/w11-update-product.graphql?raw";
import w12Products from "./examples/w12-products.graphql?raw";
import w13CreateOrder from "./examples/w13-create-order.graphql?raw";
import w14Orders from "./examples/w14-orders.graphql?raw";
import w15TopCustomers from "./examples/w15-top-customers.graphql?raw";

/** The live data that the examples need to run as they open. */
export interface Sample {
  userId: string;
  postId: string;
  /** A post of the signed-in user. */
  ownPostId: string;
  /** A username that is free. */
  freeUsername: string;
  /** A category with products, one of these, and a tag. */
  categoryId: string;
  productId: string;
  tagId: string;
}

export interface Example {
  request: `Q${1 | 2 | 3 | 4 | 5 | 6}` | `C${1 | 2 | 3 | 4}` | `W${string}`;
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
  {
    request: "W01",
    title: "Sign up or in as a customer",
    document: w01CreateCustomer,
    variables: ({ freeUsername }) => ({ emailAddress: `${freeUsername}@example.com`, password: "one-hop-is-enough" }),
  },
  {
    request: "W02",
    title: "Edit a customer",
    document: w02UpdateCustomer,
    variables: () => ({
      addresses: [{ addressLine1: "1 Main Street", city: "Lakewood", country: "United States", zipCode: "12345" }],
    }),
  },
  {
    request: "W03",
    title: "A customer",
    document: w03Customer,
    variables: () => ({}),
  },
  {
    request: "W04",
    title: "Create a category",
    document: w04CreateCategory,
    variables: () => ({ name: "A category from the playground" }),
  },
  {
    request: "W05",
    title: "Rename a category",
    document: w05UpdateCategory,
    variables: ({ categoryId }) => ({ categoryId, name: "A renamed category" }),
  },
  {
    request: "W06",
    title: "All categories",
    document: w06Categories,
    variables: () => ({}),
  },
  {
    request: "W07",
    title: "Create a tag",
    document: w07CreateTag,
    variables: () => ({ name: "playful" }),
  },
  {
    request: "W08",
    title: "Rename a tag",
    document: w08UpdateTag,
    variables: ({ tagId }) => ({ tagId, name: "renamed" }),
  },
  {
    request: "W09",
    title: "All tags",
    document: w09Tags,
    variables: () => ({}),
  },
  {
    request: "W10",
    title: "Create a product",
    document: w10CreateProduct,
    variables: ({ categoryId, tagId }) => ({
      categoryId,
      tagIds: [tagId],
      price: { amount: "12.50", currencyCode: "EUR" },
    }),
  },
  {
    request: "W11",
    title: "Edit a product",
    document: w11UpdateProduct,
    variables: ({ productId }) => ({ productId, price: { amount: "9.90", currencyCode: "EUR" } }),
  },
  {
    request: "W12",
    title: "A category’s products",
    document: w12Products,
    variables: ({ categoryId }) => ({ categoryId, first: 20 }),
  },
  {
    request: "W13",
    title: "Place an order, or delete it",
    document: w13CreateOrder,
    variables: ({ productId, freeUsername }) => ({
      lines: [{ productId, quantity: 2 }],
      idempotencyKey: `playground-${freeUsername}`,
      salesOrderId: "the id of an order of yours",
    }),
  },
  {
    request: "W14",
    title: "A customer’s orders",
    document: w14Orders,
    variables: () => ({ first: 20 }),
  },
  {
    request: "W15",
    title: "The customers with most orders",
    document: w15TopCustomers,
    variables: () => ({ first: 10 }),
  },
];

/** An example's variables as the variables editor shows them. */
export function variablesText(example: Example, sample: Sample): string {
  return JSON.stringify(example.variables(sample), null, 2);
}
