/** A summary is cut between words: one that does not end like a sentence goes on. */
export function cutInWords(summary: string): string {
  return /[.!?…:;)"'”’]$/.test(summary) ? summary : `${summary} …`;
}

/**
 * What a summary says without the marks of Markdown. It is cut between words, so it is not parsed: only marks that are
 * clear without that are taken away.
 */
export function withoutMarks(summary: string): string {
  return summary
    .replace(/!?\[([^\]]*)\]\([^)\s]*(?:\)|$)/g, "$1")
    .replace(/^\s*(?:#{1,6}|>|[-+*]|\d+\.)\s+/gm, "")
    .replace(/(^|[\s("'])(\*\*|__|\*|_|`)(?=\S)([^*_`]*[^\s*_`])\2(?=[\s.,;:!?…)"']|$)/g, "$1$3");
}
