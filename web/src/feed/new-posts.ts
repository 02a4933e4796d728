/** Posts that entered the feed while it was being read: they wait until the reader asks for them. */
import type { PostCardFragment } from "../post/PostCard.generated.js";

export interface News {
  /** Announced, newest first. */
  waiting: readonly PostCardFragment[];
  /** Asked for, newest first. */
  shown: readonly PostCardFragment[];
}

export const nothingNew: News = { waiting: [], shown: [] };

/** A post of the feed was written or changed. A listed post changes where it is. */
export function noticed(news: News, post: PostCardFragment, listed: readonly PostCardFragment[]): News {
  const isPost = ({ id }: PostCardFragment): boolean => id === post.id;
  if (news.waiting.some(isPost) || news.shown.some(isPost)) {
    const replaced = (posts: readonly PostCardFragment[]) => posts.map((other) => (isPost(other) ? post : other));
    return { waiting: replaced(news.waiting), shown: replaced(news.shown) };
  }
  const newest = listed[0];
  if (listed.some(isPost) || (newest !== undefined && post.creationDate <= newest.creationDate)) {
    return news;
  }
  return { ...news, waiting: [post, ...news.waiting] };
}

/** A post left the feed. */
export function withoutPost({ waiting, shown }: News, id: string): News {
  const others = (posts: readonly PostCardFragment[]) => posts.filter((post) => post.id !== id);
  return { waiting: others(waiting), shown: others(shown) };
}

/** The reader asked for the news. */
export function revealed({ waiting, shown }: News): News {
  return { waiting: [], shown: [...waiting, ...shown] };
}
