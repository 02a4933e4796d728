/** The tags of products as links to their pages. */
export function productTagLinks(tags: readonly { id: string; name: string }[]): { href: string; name: string }[] {
  return tags.map(({ id, name }) => ({ href: `/shop/tag/${id}`, name }));
}
