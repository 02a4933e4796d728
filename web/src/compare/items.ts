/** The possible subjects of a request: users for Q1 and Q3, posts for Q2, Q4 and Q5. */
import type { ItemsToCompareQuery, ReadRequest } from "./compare.generated.js";

type Post = NonNullable<ItemsToCompareQuery["feed"]>["nodes"][number];

export interface Item {
  id: string;
  name: string;
}

export function needsItem(request: ReadRequest): boolean {
  return request !== "Q6";
}

/** The items to choose from, those first that show most. */
export function itemsFor(request: ReadRequest, posts: readonly Post[]): Item[] {
  if (request === "Q1" || request === "Q3") {
    const users = new Map(posts.map(({ author }) => [author.id, author.username]));
    return [...users].map(([id, name]) => ({ id, name }));
  }
  const weight = ({ commentCount, likeCount }: Post): number =>
    request === "Q4" ? commentCount : request === "Q5" ? likeCount : commentCount + likeCount;
  return posts.toSorted((a, b) => weight(b) - weight(a)).map(({ id, title }) => ({ id, name: title }));
}
