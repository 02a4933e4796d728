/**
 * Text of a user, as Markdown. `marked` only reads it; its tokens become elements here, one kind each, so no
 * text ever becomes HTML: raw HTML is shown as it was typed, and links lead to the web or to nowhere.
 */
import type { Token, Tokens } from "marked";
import { Component, Fragment, memo, useMemo, type ReactNode } from "react";
import { BoundedLexer, PLAIN } from "./bounded-lexer.js";
import { safeLink } from "./safe-link.js";
import "./markdown.css";

/**
 * Untrusted Markdown as elements. A text that exceeds the limits of the lexer, or that fails to render, is
 * shown as it was typed: it never takes the page with it.
 */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <MarkdownBoundary key={text} text={text}>
        <Rendered text={text} />
      </MarkdownBoundary>
    </div>
  );
});

/** Error boundary of one text: the text as it was typed, in place of an exception. */
class MarkdownBoundary extends Component<{ text: string; children: ReactNode }, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError(): { hasFailed: boolean } {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    return this.state.hasFailed ? plain(this.props.text) : this.props.children;
  }
}

function Rendered({ text }: { text: string }) {
  const tokens = useMemo(() => lexed(text), [text]);
  return tokens === null ? plain(text) : blocks(tokens);
}

/** The tokens of a text; null where it exceeds a limit. */
function lexed(text: string): readonly Token[] | null {
  try {
    return new BoundedLexer().lex(text);
  } catch {
    return null;
  }
}

function plain(text: string): ReactNode {
  return <p className="markdown-plain">{text}</p>;
}

function blocks(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, index) => <Fragment key={index}>{block(token)}</Fragment>);
}

function block(token: Token): ReactNode {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return heading(token as Tokens.Heading);
    case "paragraph":
      return <p>{inlines((token as Tokens.Paragraph).tokens)}</p>;
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens === undefined ? unescaped(text) : inlines(tokens);
    }
    case "code":
      return (
        <pre tabIndex={0}>
          <code>{(token as Tokens.Code).text}</code>
        </pre>
      );
    case "blockquote":
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens)}</blockquote>;
    case "list":
      return list(token as Tokens.List);
    case "table":
      return table(token as Tokens.Table);
    case "hr":
      return <hr />;
    case "html":
      return <p>{token.raw}</p>;
    case PLAIN:
      return plain(token.raw);
    default:
      return inline(token);
  }
}

/** The page's title is the first level, so a text begins with the second. */
function heading({ depth: level, tokens }: Tokens.Heading): ReactNode {
  const content = inlines(tokens);
  return level === 1 ? <h2>{content}</h2> : level === 2 ? <h3>{content}</h3> : <h4>{content}</h4>;
}

function list({ ordered, start, items }: Tokens.List): ReactNode {
  const entries = items.map((item, index) => (
    <li key={index}>
      {item.task && <>{item.checked === true ? "☑ " : "☐ "}</>}
      {blocks(item.tokens.filter(({ type }) => type !== "checkbox"))}
    </li>
  ));
  return ordered ? <ol start={start === "" ? 1 : start}>{entries}</ol> : <ul>{entries}</ul>;
}

function table({ header, rows }: Tokens.Table): ReactNode {
  return (
    <div className="markdown-table" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {header.map(({ tokens }, index) => (
              <th key={index} scope="col">
                {inlines(tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map(({ tokens }, cell) => (
                <td key={cell}>{inlines(tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inlines(tokens: readonly Token[] | undefined): ReactNode {
  return (tokens ?? []).map((token, index) => <Fragment key={index}>{inline(token)}</Fragment>);
}

function inline(token: Token): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inlines((token as Tokens.Strong).tokens)}</strong>;
    case "em":
      return <em>{inlines((token as Tokens.Em).tokens)}</em>;
    case "del":
      return <del>{inlines((token as Tokens.Del).tokens)}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link": {
      const { href, tokens } = token as Tokens.Link;
      return link(href, inlines(tokens));
    }
    // Images of other hosts would leak the addresses of readers; they are links instead.
    case "image": {
      const { href, text } = token as Tokens.Image;
      return link(href, text === "" ? "picture" : unescaped(text));
    }
    case "escape":
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens === undefined ? unescaped(text) : inlines(tokens);
    }
    default:
      return token.raw;
  }
}

function link(href: string, content: ReactNode): ReactNode {
  const target = safeLink(href);
  return target === null ? (
    content
  ) : (
    <a href={target} rel="nofollow ugc noopener">
      {content}
    </a>
  );
}

const entities: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  "#39": "'",
  nbsp: "\u00a0",
};

/** Decodes entities: the few that people type become the characters they stand for. */
function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => entities[name] ?? "");
}
