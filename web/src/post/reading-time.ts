/** Words that a person reads in a minute. */
const WORDS_PER_MINUTE = 230;

/** `3 min read`, and at least one minute. */
export function readingTime(text: string): string {
  const words = text.split(/\s+/).filter((word) => word !== "").length;
  return `${Math.max(1, Math.round(words / WORDS_PER_MINUTE)).toLocaleString("en")} min read`;
}
