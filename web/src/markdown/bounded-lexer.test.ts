import { Lexer, type Token, type Tokens } from "marked";
import { describe, expect, test, vi } from "vitest";
import {
  BoundedLexer,
  INLINE_CHARS_MAX,
  INLINE_MARKS_MAX,
  MarkdownLimitExceeded,
  NESTING_MAX,
  TABLE_CELLS_MAX,
  TABLE_COLUMNS_MAX,
  UNDERLINED_CHARS_MAX,
} from "./bounded-lexer.js";

const ORDINARY = `# A heading

Some **bold**, *slanted* and ~~struck~~ words, \`code\`, a [link](https://example.com "title") and <https://example.org>.
A second line with a hard break  
and a word@example.com.

> Said before,
> and > again.

1. one
2. two
   - [x] nested
   - [ ] twice

| a | b |
|---|:-:|
| 1 | 2 |

\`\`\`rust
fn main() {}
\`\`\`

[reference][r]

[r]: https://example.net

---
`;

/** The rendered parts of a token. */
function shapes(tokens: readonly Token[]): unknown {
  return JSON.parse(JSON.stringify(tokens));
}

function typesOf(tokens: readonly Token[]): string[] {
  return tokens.map(({ type }) => type);
}

function depthOf(tokens: readonly Token[] | undefined): number {
  return Math.max(0, ...(tokens ?? []).map((token) => 1 + depthOf("tokens" in token ? token.tokens : undefined)));
}

describe("within its limits", () => {
  test("a text is read as marked reads it", () => {
    expect(shapes(new BoundedLexer().lex(ORDINARY))).toEqual(
      shapes(new Lexer({ gfm: true, breaks: true }).lex(ORDINARY)),
    );
  });

  test("a table is a table up to its limits", () => {
    const table = (columns: number, rows: number): string =>
      `${"a|".repeat(columns)}b\n${"-|".repeat(columns)}-\n${`${"x|".repeat(columns)}y\n`.repeat(rows)}`;
    expect(typesOf(new BoundedLexer().lex(table(TABLE_COLUMNS_MAX - 1, 10)))).toEqual(["table"]);
    expect(typesOf(new BoundedLexer().lex(table(TABLE_COLUMNS_MAX, 10)))).toEqual(["plain"]);
    expect(typesOf(new BoundedLexer().lex(table(9, TABLE_CELLS_MAX / 10 - 2)))).toEqual(["table"]);
    expect(typesOf(new BoundedLexer().lex(table(9, TABLE_CELLS_MAX / 10)))).toEqual(["plain"]);
  });

  test("a table that is mostly missing cells is plain text", () => {
    expect(typesOf(new BoundedLexer().lex(`${"a|".repeat(40)}\n${"-|".repeat(40)}\n${"x\n".repeat(100)}`))).toEqual([
      "plain",
    ]);
  });

  test("a long paragraph keeps every character, and its pairs", () => {
    for (const word of ["word ", "x", "\u{1F600}", "_a", "(*b* c) "]) {
      const text = word.repeat(3 * INLINE_CHARS_MAX).trim();
      const [paragraph] = new BoundedLexer().lex(text);
      const raws = ("tokens" in (paragraph ?? {}) ? (paragraph as { tokens: Token[] }).tokens : []).map(
        ({ raw }) => raw,
      );
      expect(raws.join("")).toBe(text);
      expect(raws.filter((raw) => /\p{Surrogate}/u.test(raw))).toEqual([]);
    }
  });
});

describe("beyond its limits", () => {
  test.each(["- ", "* ", "-\t"])("a line of many %j is too much", (mark) => {
    expect(typesOf(new BoundedLexer().lex(`${mark.repeat(100)}x\n~\n`))).toEqual(["list"]);
    expect(() => new BoundedLexer().lex(`${mark.repeat(101)}x\n~\n`)).toThrow(MarkdownLimitExceeded);
  });

  test("a heading with a line below it is found nearby alone", () => {
    const heading = (chars: number, underline: string): string => `${"x".repeat(chars)}\n${underline}`;
    for (const [text, types] of [
      [heading(1, "==="), ["heading"]],
      [heading(1, "---\n\ny"), ["heading", "space", "paragraph"]],
      [`a\nb\n---`, ["heading"]],
      [heading(UNDERLINED_CHARS_MAX - 10, "---"), ["heading"]],
      [heading(UNDERLINED_CHARS_MAX, "---"), ["paragraph", "hr"]],
      [heading(UNDERLINED_CHARS_MAX - 4, "---abc"), ["paragraph"]],
    ] as const) {
      expect(typesOf(new BoundedLexer().lex(text)), text.slice(-10)).toEqual(types);
    }
  });

  test("one pass of the inline rules has few marks, and marks of words stay in pairs", () => {
    const pass = vi.spyOn(Lexer.prototype, "inlineTokens");
    const bold = new BoundedLexer().lex("**word** ".repeat(4 * INLINE_MARKS_MAX))[0] as Tokens.Paragraph;
    expect(bold.tokens.filter(({ type }) => type === "strong")).toHaveLength(4 * INLINE_MARKS_MAX);
    new BoundedLexer().lex("__a&".repeat(INLINE_CHARS_MAX));
    const passes = pass.mock.calls.map(([src]) => src);
    pass.mockRestore();
    expect(passes.length).toBeGreaterThan(INLINE_CHARS_MAX / INLINE_MARKS_MAX);
    expect(passes.every((src) => (src.match(/[*_~]+/g) ?? []).length <= INLINE_MARKS_MAX)).toBe(true);
  });

  test.each([
    ["quotes", ">".repeat(10_000)],
    ["quotes with spaces", "> ".repeat(5_000)],
    ["lists", "- + ".repeat(2_500)],
    ["lists and quotes", "+ > ".repeat(2_500)],
    ["numbered lists", "1. ".repeat(3_000)],
    ["strong text", "**a ".repeat(500) + " b**".repeat(500)],
    ["brackets", "[".repeat(5_000) + "](x)".repeat(1_250)],
  ])("%s do not nest for ever", (_name, text) => {
    const lexer = new BoundedLexer();
    expect(depthOf(lexer.lex(text))).toBeLessThanOrEqual(2 * NESTING_MAX + 2);
    expect(lexer.work).toBeLessThanOrEqual(20 * text.length);
  });

  test("a table of 1,700 columns and 1,600 rows is one token", () => {
    const lexer = new BoundedLexer();
    const text = `${"a|".repeat(1_700)}\n${"-|".repeat(1_700)}\n${"x\n".repeat(1_599)}`;
    expect(typesOf(lexer.lex(text))).toEqual(["plain"]);
  });

  test.each([
    ["an address without end", `${"a".repeat(99_998)}@`],
    ["marks within words", "_a".repeat(50_000)],
  ])("%s is read in parts", (_name, text) => {
    const lexer = new BoundedLexer();
    const [paragraph] = lexer.lex(text);
    expect(paragraph?.raw).toBe(text);
    expect(lexer.work).toBeLessThanOrEqual(3 * text.length);
  });

  test("quotes in lists that are read again for each lazy line end with an error", () => {
    const text = "1. >".repeat(12_500) + "[a]: b\n(".repeat(6_250);
    expect(() => new BoundedLexer().lex(text)).toThrow(MarkdownLimitExceeded);
  });

  test("more tokens than a page can show end with an error", () => {
    expect(() => new BoundedLexer().lex("a*".repeat(50_000))).toThrow(MarkdownLimitExceeded);
  });
});
