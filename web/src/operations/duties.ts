/** The data that each projection keeps current. */
export const duties: Readonly<Record<string, string | undefined>> = {
  usernames: "carries a new name to posts, comments and likes",
  "usernames-catch-up": "corrects texts that were written with an old name meanwhile",
  "user-posts": "short copies of posts beside their users, for profiles",
  feed: "short copies of the 100 newest posts, for the feed",
  deletions: "deletes the comments and likes of deleted posts",
  renames: "finishes renames, and releases former usernames",
  "category-names": "carries a new category name to its products",
  "tag-names": "carries a new tag name to its products",
  "product-catch-up": "corrects products that were written with an old category name",
  "products-by-tag": "short copies of products under each of their tags",
  ranking: "short copies of the 100 customers with most orders",
};
