/** Tags as they are typed in one line, and as the server takes them. */

/** The most tags of a post. */
export const TAGS_MAX = 5;

/** The tags of a line: words between commas or spaces, without the sign before them that other sites use. */
export function tagsOf(line: string): string[] {
  return line
    .split(/[\s,;]+/u)
    .map((word) => word.replace(/^#/u, ""))
    .filter((word) => word !== "");
}

/** The line that shows tags. */
export function lineOf(tags: readonly string[]): string {
  return tags.join(", ");
}
