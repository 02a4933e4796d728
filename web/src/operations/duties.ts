/** What each projection keeps current. */
export const duties: Readonly<Record<string, string | undefined>> = {
  usernames: "carries a new name to posts, comments and likes",
  "usernames-catch-up": "corrects what was written with an old name meanwhile",
  "user-posts": "short copies of posts beside their users, for profiles",
  feed: "short copies of the 100 newest posts, for the feed",
  deletions: "takes away what belonged to a deleted post",
};
