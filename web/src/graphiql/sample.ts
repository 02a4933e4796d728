/** Reads from the live data the ids with which the examples run as they open. */
import { ask } from "../api/request.js";
import type { Sample } from "./examples.js";
import { PlaygroundProductsDocument, PlaygroundSampleDocument } from "./sample.generated.js";

/** The playground's wait for ids before it opens without them. */
const SAMPLE_TIMEOUT_MS = 3_000;

/** Never fails: where the data has no such thing yet, a variable holds an advice. */
export async function readSample(accessToken: string | null): Promise<Sample> {
  const answer = await ask(
    PlaygroundSampleDocument,
    { signedIn: accessToken !== null },
    { signal: AbortSignal.timeout(SAMPLE_TIMEOUT_MS), accessToken },
  ).catch(() => null);

  const posts = answer?.data.feed?.nodes ?? [];
  // The liveliest post, so that its comments and likes have something to show.
  const post = posts.toSorted((a, b) => b.commentCount + b.likeCount - a.commentCount - a.likeCount)[0];
  const categoryId = answer?.data.productCategories?.[0]?.id;
  return {
    userId: post?.author.id ?? "the id of a user: see C1",
    postId: post?.id ?? "the id of a post: see C2",
    ownPostId: answer?.data.viewer?.posts.nodes[0]?.id ?? "the id of a post of yours",
    categoryId: categoryId ?? "the id of a category: see W04",
    productId: (await readProduct(categoryId)) ?? "the id of a product: see W10",
    tagId: answer?.data.productTags?.[0]?.id ?? "the id of a tag: see W07",
    freeUsername: `reader${Math.random().toString(36).slice(2, 8)}`,
  };
}

/** A product of a category, if it has one. */
async function readProduct(categoryId: string | undefined): Promise<string | undefined> {
  if (categoryId === undefined) return undefined;
  const answer = await ask(
    PlaygroundProductsDocument,
    { categoryId },
    { signal: AbortSignal.timeout(SAMPLE_TIMEOUT_MS), accessToken: null },
  ).catch(() => null);
  const node = answer?.data.node;
  return node !== null && node !== undefined && "products" in node ? node.products.nodes[0]?.id : undefined;
}
