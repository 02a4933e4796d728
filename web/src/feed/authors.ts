/** The authors of a list of posts. */

interface PostOfAuthor {
  creationDate: string;
  author: { id: string; username: string };
}

export interface Author {
  id: string;
  username: string;
  posts: number;
  /** When the author's latest post was created. */
  lastDate: string;
}

/** The authors of posts, of which the newest is first: by their posts, then by their latest one. */
export function authorsOf(posts: readonly PostOfAuthor[]): Author[] {
  const authors = new Map<string, Author>();
  for (const { author, creationDate } of posts) {
    const known = authors.get(author.id);
    authors.set(
      author.id,
      known === undefined ? { ...author, posts: 1, lastDate: creationDate } : { ...known, posts: known.posts + 1 },
    );
  }
  // The sort is stable.
  return [...authors.values()].sort((one, other) => other.posts - one.posts);
}
