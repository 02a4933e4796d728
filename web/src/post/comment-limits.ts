/** Comments that are read at once. */
export const COMMENTS_OF_PAGE = 20;
/** The server takes comments of so many characters. */
export const COMMENT_CHARS_MAX = 10_000;
