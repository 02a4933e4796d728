/** A summary is cut between words: one that does not end like a sentence goes on. */
export function cutInWords(summary: string): string {
  return /[.!?…:;)"'”’]$/.test(summary) ? summary : `${summary} …`;
}
