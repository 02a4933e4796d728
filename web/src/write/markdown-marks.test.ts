import { describe, expect, test } from "vitest";
import { withMark, type Mark } from "./markdown-marks.js";

/** The text with its selection between two bars. */
function marked(bars: string, mark: Mark): string {
  const start = bars.indexOf("|");
  const end = bars.lastIndexOf("|") - 1;
  const changed = withMark({ text: bars.replaceAll("|", ""), start, end }, mark);
  return `${changed.text.slice(0, changed.start)}|${changed.text.slice(changed.start, changed.end)}|${changed.text.slice(changed.end)}`;
}

describe("a mark", () => {
  test.each([
    ["one |two| three", "bold", "one **|two|** three"],
    ["one **|two|** three", "bold", "one |two| three"],
    ["||", "italic", "*|italic|*"],
    ["a |b|", "code", "a `|b|`"],
    ["see |here|", "link", "see [here](|https://|)"],
    ["one\ntw|o\nthr|ee", "list", "one\n|- two\n- three|"],
    ["one\n|- two\n- three|", "list", "one\n|two\nthree|"],
    ["|A title|\ntext", "heading", "|## A title|\ntext"],
    ["|a|", "quote", "|> a|"],
  ] as const)("turns %s by %s into %s", (text, mark, expected) => {
    expect(marked(text, mark)).toBe(expected);
  });
});
