/**
 * Fuzz target for untrusted Markdown: texts of repeated marks from a seed, for FUZZ_SECONDS. Each text has to
 * stay within the limits of the lexer, and has to become elements without scripts, pictures and foreign
 * schemes.
 */
import type { Token } from "marked";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import {
  BoundedLexer,
  MarkdownLimitExceeded,
  NESTING_MAX,
  TOKENS_MAX,
  WORK_PER_CHAR_MAX,
} from "../../src/markdown/bounded-lexer.js";
import { Markdown } from "../../src/markdown/Markdown.js";
import { Dice } from "../soak/dice.js";

const SECONDS = Number(process.env.FUZZ_SECONDS ?? "10");
const SEED = Number(process.env.FUZZ_SEED ?? "1");
/** The length of a comment, and the length of a post. */
const LENGTHS = [10, 100, 1_000, 10_000, 10_000, 10_000, 100_000];
/** A text that takes more processor time is a finding, like findings of the other targets of `make fuzz`. */
const TEXT_MS_MAX = 5_000;

const MARKS = [
  ...Array.from("a \n>-*_`[]()<!|#~1.\\@:&\t=+/"),
  "\n\n",
  "  \n",
  "    ",
  "```",
  "~~~",
  "- ",
  "1. ",
  "> ",
  "**",
  "__",
  "~~",
  "a|",
  "-|",
  "|-",
  "[x] ",
  "![",
  "](",
  "[a]: b\n",
  "[a][b]",
  "<!--",
  "<a ",
  "<script>",
  "</",
  "<?",
  "<![CDATA[",
  "http://",
  "www.",
  "a@a.a",
  "javascript:",
  "data:",
  "&amp;",
  "&#x0;",
  "\u0000",
  "\u202E",
  "\u{1F600}",
  "\uD800",
  "\r",
];

/** Some marks, each repeated, one after the other or each within the next. */
function hostile(dice: Dice): string {
  const length = dice.pick(LENGTHS);
  const parts = Array.from({ length: 1 + dice.roll(4) }, () =>
    Array.from({ length: 1 + dice.roll(3) }, () => dice.pick(MARKS)).join(""),
  );
  const share = Math.ceil(length / parts.length);
  const repeated = parts.map((part) => part.repeat(Math.ceil(share / part.length)).slice(0, share));
  return (dice.roll(2) === 0 ? repeated.join("") : parts.join("").repeat(length)).slice(0, length);
}

function depthOf(tokens: readonly Token[] | undefined): number {
  return (tokens ?? []).reduce(
    (deepest, token) => Math.max(deepest, 1 + depthOf("tokens" in token ? token.tokens : undefined)),
    0,
  );
}

/** Parses a text, and checks the time and the result. */
function checkLimits(text: string): void {
  const lexer = new BoundedLexer();
  try {
    expect(depthOf(lexer.lex(text))).toBeLessThanOrEqual(2 * NESTING_MAX + 2);
  } catch (error) {
    // The one error that the page expects.
    expect(error).toBeInstanceOf(MarkdownLimitExceeded);
  }
  expect(lexer.work).toBeLessThanOrEqual((WORK_PER_CHAR_MAX + 1) * text.length + 10_000);
  expect(lexer.tokenCount).toBeLessThanOrEqual(TOKENS_MAX + text.length);
}

function checkElements(text: string): void {
  const html = renderToStaticMarkup(<Markdown text={text} />);
  expect(html).not.toMatch(/<(?:script|img|iframe|style|object)\b/);
  expect(html).not.toMatch(/<[^>]*\son\w+=/);
  expect(html).not.toMatch(/href="\s*(?:javascript|data|vbscript):/i);
}

test(`Markdown stays within its limits for ${SECONDS} s`, () => {
  const end = Date.now() + SECONDS * 1_000;
  let slowest = { ms: 0, seed: SEED };
  let texts = 0;
  for (let seed = SEED; Date.now() < end; seed += 1) {
    const text = hostile(new Dice(seed));
    const begun = process.cpuUsage();
    try {
      checkLimits(text);
      checkElements(text);
    } catch (error) {
      throw new Error(`FUZZ_SEED=${seed}: ${JSON.stringify(text.slice(0, 200))}`, { cause: error });
    }
    const { user, system } = process.cpuUsage(begun);
    const ms = (user + system) / 1_000;
    slowest = ms > slowest.ms ? { ms, seed } : slowest;
    texts += 1;
  }
  console.log(`markdown: ${texts} texts, the slowest took ${Math.round(slowest.ms)} ms (FUZZ_SEED=${slowest.seed})`);
  expect(slowest.ms, `FUZZ_SEED=${slowest.seed}`).toBeLessThan(TEXT_MS_MAX);
});
