/** Reads a list to its end, page after page. */

/** A page of a list, as connections have it. */
export interface ListPage<Item> {
  nodes: readonly Item[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

/** All items of a list. Throws where a page is missing: part of a list is no list. */
export async function allPages<Item>(
  read: (after: string | null) => Promise<ListPage<Item> | null | undefined>,
): Promise<Item[]> {
  const items: Item[] = [];
  let after: string | null = null;
  for (;;) {
    const page: ListPage<Item> | null | undefined = await read(after);
    if (page == null) {
      throw new Error("A page of your data is missing.");
    }
    items.push(...page.nodes);
    if (!page.pageInfo.hasNextPage || page.pageInfo.endCursor === null) {
      return items;
    }
    after = page.pageInfo.endCursor;
  }
}
