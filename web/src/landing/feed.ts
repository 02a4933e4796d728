/** The landing page's one question: the feed's newest posts, under a data model. */
import { graphql, type DataModel, type ResultOf } from "../api/graphql.js";
import { ask } from "../api/request.js";
import { PostCardFragment } from "./post-card.js";

export const POSTS_SHOWN = 10;

export const FeedQuery = graphql(
  `
    query LandingFeed($first: Int!, $model: DataModel!) {
      feed(first: $first, model: $model) {
        nodes {
          id
          ...PostCard
        }
      }
    }
  `,
  [PostCardFragment],
);

export type FeedPost = ResultOf<typeof FeedQuery>["feed"]["nodes"][number];

export interface FeedPage {
  posts: FeedPost[];
  requestCharge: number | null;
}

export async function readFeed(model: DataModel, signal: AbortSignal): Promise<FeedPage> {
  const { data, requestCharge } = await ask(FeedQuery, { first: POSTS_SHOWN, model }, { signal });
  return { posts: data.feed.nodes, requestCharge };
}
