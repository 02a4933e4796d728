/** The fragment of an address that leads to a comment. */
export function anchorOf(commentId: string): string {
  return `comment-${commentId}`;
}
