/** Marks of Markdown that the toolbar of the editor sets around or before the selected text. */

export interface Selected {
  text: string;
  /** The selection, as indexes into the text. */
  start: number;
  end: number;
}

export type Mark = "bold" | "italic" | "heading" | "link" | "quote" | "list" | "code";

const AROUND: Partial<Record<Mark, { mark: string; placeholder: string }>> = {
  bold: { mark: "**", placeholder: "bold" },
  italic: { mark: "*", placeholder: "italic" },
  code: { mark: "`", placeholder: "code" },
};

const BEFORE_LINE: Partial<Record<Mark, string>> = { heading: "## ", quote: "> ", list: "- " };

/** The text with a mark, and the selection in it. A mark that is there is taken away. */
export function withMark(selected: Selected, mark: Mark): Selected {
  const around = AROUND[mark];
  if (around !== undefined) {
    return surrounded(selected, around.mark, around.placeholder);
  }
  const prefix = BEFORE_LINE[mark];
  return prefix === undefined ? linked(selected) : prefixed(selected, prefix);
}

function surrounded({ text, start, end }: Selected, mark: string, placeholder: string): Selected {
  const inner = text.slice(start, end);
  const isMarked = text.slice(0, start).endsWith(mark) && text.slice(end).startsWith(mark);
  if (isMarked) {
    const from = start - mark.length;
    return { text: text.slice(0, from) + inner + text.slice(end + mark.length), start: from, end: from + inner.length };
  }
  const content = inner === "" ? placeholder : inner;
  const from = start + mark.length;
  return {
    text: text.slice(0, start) + mark + content + mark + text.slice(end),
    start: from,
    end: from + content.length,
  };
}

function linked({ text, start, end }: Selected): Selected {
  const label = start === end ? "link" : text.slice(start, end);
  const url = "https://";
  const from = start + label.length + 3;
  return { text: `${text.slice(0, start)}[${label}](${url})${text.slice(end)}`, start: from, end: from + url.length };
}

/** Sets a prefix before each line of the selection, or takes it away where all lines have it. */
function prefixed({ text, start, end }: Selected, prefix: string): Selected {
  const from = text.lastIndexOf("\n", start - 1) + 1;
  const next = text.indexOf("\n", end);
  const to = next === -1 ? text.length : next;
  const lines = text.slice(from, to).split("\n");
  const isMarked = lines.every((line) => line.startsWith(prefix));
  const changed = lines.map((line) => (isMarked ? line.slice(prefix.length) : prefix + line)).join("\n");
  return { text: text.slice(0, from) + changed + text.slice(to), start: from, end: from + changed.length };
}
