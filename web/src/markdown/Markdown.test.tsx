import { act } from "react";
import { createRoot } from "react-dom/client";
import { renderToStaticMarkup } from "react-dom/server";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Markdown } from "./Markdown.js";
import * as links from "./safe-link.js";
import { safeLink } from "./safe-link.js";

function rendered(text: string): string {
  return renderToStaticMarkup(<Markdown text={text} />).replace(/^<div class="markdown">(.*)<\/div>$/s, "$1");
}

describe("Markdown", () => {
  test.each([
    ["*em* and **strong**", "<p><em>em</em> and <strong>strong</strong></p>"],
    ["# A", "<h2>A</h2>"],
    ["- a\n- b", "<ul><li>a</li><li>b</li></ul>"],
    ["3. c", '<ol start="3"><li>c</li></ol>'],
    ["> said", "<blockquote><p>said</p></blockquote>"],
    ["`<b>`", "<p><code>&lt;b&gt;</code></p>"],
    ["```js\n1 < 2\n```", '<pre tabindex="0"><code>1 &lt; 2</code></pre>'],
    ["a  \nb", "<p>a<br/>b</p>"],
    ["AT&amp;T &lt;3", "<p>AT&amp;T &lt;3</p>"],
  ])("%j is rendered", (text, expected) => {
    expect(rendered(text)).toBe(expected);
  });

  test.each([
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "a <b onclick='x'>b</b>",
    "<!-- hidden -->",
    '<a href="javascript:alert(1)">x</a>',
  ])("%j is shown as it was typed", (text) => {
    const shown = document.createElement("div");
    shown.append(...new DOMParser().parseFromString(rendered(text), "text/html").body.childNodes);
    expect(shown.textContent).toBe(text);
    expect(shown.querySelector("script, img, b, a")).toBeNull();
  });

  test.each(["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "java\nscript:alert(1)"])(
    "a link to %j leads nowhere",
    (href) => {
      expect(rendered(`[x](<${href}>)`)).not.toContain("href");
      expect(safeLink(href)).toBeNull();
    },
  );

  test("a link to the web says that it is a reader's", () => {
    expect(rendered("[x](https://example.com)")).toBe(
      '<p><a href="https://example.com" rel="nofollow ugc noopener">x</a></p>',
    );
  });

  test("an image is a link, so that readers stay private", () => {
    expect(rendered("![cat](https://example.com/cat.png)")).not.toContain("<img");
  });

  test("quotes within quotes end somewhere", () => {
    expect(rendered(`${">".repeat(200)} deep`).match(/<blockquote>/g)?.length).toBeLessThan(20);
  });
});

describe("a text that is too much to parse", () => {
  test("a table of too many cells is shown as it was typed", () => {
    const text = `${"a|".repeat(1_700)}\n${"-|".repeat(1_700)}\n${"x\n".repeat(1_599)}`;
    const html = rendered(text);
    expect(html).not.toContain("<table");
    expect(html.length).toBeLessThan(2 * text.length);
  });

  test("a text over a limit is shown as it was typed", () => {
    const text = "a*".repeat(50_000);
    expect(rendered(text)).toBe(`<p class="markdown-plain">${text}</p>`);
  });
});

describe("a text whose rendering throws", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test("is shown as typed, and the next text is rendered", () => {
    (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const broken = vi.spyOn(links, "safeLink").mockImplementation(() => {
      throw new Error("broken");
    });
    const container = document.createElement("div");
    const root = createRoot(container, { onCaughtError: () => undefined });
    const show = (text: string): void => {
      act(() => {
        root.render(<Markdown text={text} />);
      });
    };
    show("[x](https://example.com)");
    expect(container.textContent).toBe("[x](https://example.com)");
    broken.mockRestore();
    show("[y](https://example.com)");
    expect(container.querySelector("a")?.textContent).toBe("y");
    act(() => {
      root.unmount();
    });
  });
});
