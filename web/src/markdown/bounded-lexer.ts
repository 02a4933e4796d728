/**
 * Resource limits for parsing untrusted Markdown: nesting, table cells, tokens and total work. `marked` has
 * no limits of its own: its recursion overflows the stack, its tables are padded to their header, and its
 * inline rules take quadratic time. Work is counted and not timed, so the same text has the same result on
 * every machine.
 */
import { Lexer, Tokenizer, type Token, type Tokens } from "marked";

/** Lists, quotes and inline marks nest this deep. Deeper marks are plain text. */
export const NESTING_MAX = 12;
/** The most columns of a table. A wider one is plain text. */
export const TABLE_COLUMNS_MAX = 50;
/** The most cells of a table. A larger one is plain text. */
export const TABLE_CELLS_MAX = 5_000;
/** Cells that a small table may have, beside one for every character. */
const TABLE_CELLS_MIN = 100;
/**
 * The most characters of one pass of the inline rules. They take quadratic time, so a longer paragraph is
 * read in parts.
 */
export const INLINE_CHARS_MAX = 2_000;
/** The most runs of emphasis marks in one pass: each of them may look through the rest of it. */
export const INLINE_MARKS_MAX = 100;
/**
 * The most characters of a heading that a line of dashes or equals signs follows. Within a list each line may
 * look for such a line through the rest of the item.
 */
export const UNDERLINED_CHARS_MAX = 2_000;
/** The most marks such as `- ` in a row. The list rule looks through the rest of them behind each. */
const REPEATED_MARKS_MAX = 100;
const REPEATED_MARKS = new RegExp(`(?:-[ \\t]+){${REPEATED_MARKS_MAX + 1}}|(?:\\*[ \\t]+){${REPEATED_MARKS_MAX + 1}}`);
/** The most tokens of a text, table cells among them. Each becomes about one element of the page. */
export const TOKENS_MAX = 20_000;
/** Tokens that a short text may have, beside one for every character. */
const TOKENS_MIN = 1_000;
/** The number of reads of each character, on average, at most. Text without nesting is read three times. */
export const WORK_PER_CHAR_MAX = 40;
/** Work that a text of any length may take, in characters. */
const WORK_MIN = 10_000;

/** A token for text that is shown as it was typed. `marked` has no token that its other rules leave alone. */
export const PLAIN = "plain";

/** A text that takes more work than its length allows. */
export class MarkdownLimitExceeded extends Error {
  override readonly name = "MarkdownLimitExceeded";
}

/** The lexer of GitHub's Markdown with limits. Throws `MarkdownLimitExceeded`. Good for one text. */
export class BoundedLexer extends Lexer {
  /** Characters that were handed to the rules. */
  work = 0;
  /** Tokens that were made. */
  tokenCount = 0;
  #depth = 0;
  #workMax = WORK_MIN;
  #tokensMax = TOKENS_MIN;

  constructor() {
    const tokenizer = new BoundedTokenizer();
    super({ gfm: true, breaks: true, tokenizer });
    tokenizer.onTable = (cells) => {
      this.#count(0, cells);
    };
  }

  override lex(src: string) {
    this.#workMax = WORK_MIN + WORK_PER_CHAR_MAX * src.length;
    this.#tokensMax = Math.min(TOKENS_MAX, TOKENS_MIN + src.length);
    if (REPEATED_MARKS.test(src)) {
      throw new MarkdownLimitExceeded(`The text has more than ${REPEATED_MARKS_MAX} marks of a list in a row.`);
    }
    return super.lex(src);
  }

  override blockTokens<List extends Token[]>(src: string, tokens = [] as unknown as List, isClipped = false): List {
    return this.#within(src, tokens, () => {
      super.blockTokens(src, tokens, isClipped);
      return tokens;
    });
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    return this.#within(src, tokens, () => {
      for (const part of parts(src)) {
        super.inlineTokens(part, tokens);
      }
      return tokens;
    });
  }

  /** Counts the work of a nested level, which is plain text when it is too deep. */
  #within<List extends Token[]>(src: string, tokens: List, lex: () => List): List {
    this.#count(src.length, 0);
    const before = tokens.length;
    if (this.#depth >= NESTING_MAX) {
      tokens.push(plain(src));
      this.state.top = true;
    } else {
      this.#depth += 1;
      try {
        lex();
      } finally {
        this.#depth -= 1;
      }
    }
    this.#count(0, tokens.length - before);
    return tokens;
  }

  /** Adds to the work and to the tokens of the text. */
  #count(chars: number, tokens: number): void {
    this.work += chars;
    this.tokenCount += tokens;
    if (this.work > this.#workMax) {
      throw new MarkdownLimitExceeded(`The text takes more than ${this.#workMax} steps.`);
    }
    if (this.tokenCount > this.#tokensMax) {
      throw new MarkdownLimitExceeded(`The text has more than ${this.#tokensMax} tokens.`);
    }
  }
}

/** The rules of `marked`, with tables measured before a cell is made, and a bounded look for underlines. */
class BoundedTokenizer extends Tokenizer {
  /** Called with the number of cells of each table. */
  onTable: (cells: number) => void = () => undefined;

  override table(src: string): Tokens.Table | undefined {
    const raw = tableAt(src);
    if (raw === null) {
      return undefined;
    }
    const columns = occurrences(raw.slice(0, raw.indexOf("\n")), "|") + 1;
    const cells = columns * (occurrences(raw, "\n") + 1);
    // A short row is padded to the header. A table with more cells than characters would be padding.
    if (columns > TABLE_COLUMNS_MAX || cells > Math.min(TABLE_CELLS_MAX, TABLE_CELLS_MIN + raw.length)) {
      return plain(raw) as unknown as Tokens.Table;
    }
    const table = super.table(src);
    if (table !== undefined) {
      this.onTable(cells);
    }
    return table;
  }

  override lheading(src: string): Tokens.Heading | undefined {
    const end = src.length > UNDERLINED_CHARS_MAX ? src.lastIndexOf("\n", UNDERLINED_CHARS_MAX) + 1 : src.length;
    const near = src.slice(0, end);
    return /\n {0,3}(?:=+|-+) *(?:\n|$)/.test(near) ? super.lheading(near) : undefined;
  }
}

/** The longest table that may begin here: a header, a line of dashes, and the lines up to a blank line. */
function tableAt(src: string): string | null {
  const header = src.indexOf("\n");
  const end = src.indexOf("\n", header + 1);
  const delimiter = src.slice(header + 1, end === -1 ? undefined : end);
  if (
    header === -1 ||
    (!src.slice(0, header).includes("|") && !delimiter.includes("|")) ||
    !/^[ \t|:-]+$/.test(delimiter)
  ) {
    return null;
  }
  const blank = src.slice(header + 1).search(/\n[ \t]*(?:\n|$)/);
  return blank === -1 ? src : src.slice(0, header + 1 + blank);
}

function plain(raw: string): Tokens.Generic {
  return { type: PLAIN, raw };
}

function occurrences(text: string, character: string): number {
  return text.split(character).length - 1;
}

/** A long text in parts of bounded lengths, cut behind white space where there is any. */
function* parts(text: string): Generator<string> {
  let begin = 0;
  for (let length = partLength(text, begin); begin + length < text.length; length = partLength(text, begin)) {
    const end = cut(text, begin, begin + length);
    yield text.slice(begin, end);
    begin = end;
  }
  yield text.slice(begin);
}

/** The most characters of the part that begins here. */
function partLength(text: string, begin: number): number {
  const longest = text.slice(begin, begin + INLINE_CHARS_MAX);
  let marks = 0;
  for (const { index } of longest.matchAll(/[*_~]+/g)) {
    marks += 1;
    if (marks > INLINE_MARKS_MAX) {
      return index;
    }
  }
  return longest.length;
}

function cut(text: string, begin: number, limit: number): number {
  for (let end = limit; end > begin + charsKept(begin, limit); end -= 1) {
    if (/\s/.test(text.charAt(end - 1))) {
      return end;
    }
  }
  // Both halves of a surrogate pair stay together.
  return /[\uD800-\uDBFF]/.test(text.charAt(limit - 1)) ? limit - 1 : limit;
}

/** Of a part without white space near its end at least half is kept, so that parts are few. */
function charsKept(begin: number, limit: number): number {
  return Math.floor((limit - begin) / 2);
}
