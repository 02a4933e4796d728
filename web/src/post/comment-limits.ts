/** Comments that are read at once. */
export const COMMENTS_OF_PAGE = 20;
/** The longest comment that the server accepts, in characters. */
export const COMMENT_CHARS_MAX = 10_000;
