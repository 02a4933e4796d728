import { lengthOf } from "../ui/limits.js";

/** Comments that are read at once. */
export const COMMENTS_OF_PAGE = 20;
/** The longest comment that the server accepts, in characters. */
export const COMMENT_CHARS_MAX = 10_000;

/** Whether a text can be sent as a comment. */
export function fitsComment(content: string): boolean {
  return content.trim() !== "" && lengthOf(content) <= COMMENT_CHARS_MAX;
}
