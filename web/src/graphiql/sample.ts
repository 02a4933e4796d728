/** Reads from the live data the ids with which the examples run as they open. */
import { ask } from "../api/request.js";
import type { Sample } from "./examples.js";
import { PlaygroundSampleDocument } from "./sample.generated.js";

/** How long the playground waits for ids before it opens without them. */
const SAMPLE_TIMEOUT_MS = 3_000;

/** Never fails: where the data has no such thing yet, a variable says what to do. */
export async function readSample(accessToken: string | null): Promise<Sample> {
  const answer = await ask(
    PlaygroundSampleDocument,
    { signedIn: accessToken !== null },
    { signal: AbortSignal.timeout(SAMPLE_TIMEOUT_MS), accessToken },
  ).catch(() => null);

  const posts = answer?.data.feed?.nodes ?? [];
  // The liveliest post, so that its comments and likes have something to show.
  const post = posts.toSorted((a, b) => b.commentCount + b.likeCount - a.commentCount - a.likeCount)[0];
  return {
    userId: post?.author.id ?? "the id of a user: see C1",
    postId: post?.id ?? "the id of a post: see C2",
    ownPostId: answer?.data.viewer?.posts.nodes[0]?.id ?? "the id of a post of yours",
    freeUsername: `reader${Math.random().toString(36).slice(2, 8)}`,
  };
}
