/** The path of the page with the posts of a tag. */
export function tagPath(tag: string): string {
  return `/tags/${encodeURIComponent(tag)}`;
}

/** The tags of a post as links to their pages. */
export function postTagLinks(tags: readonly string[]): { href: string; name: string }[] {
  return tags.map((tag) => ({ href: tagPath(tag), name: tag }));
}
