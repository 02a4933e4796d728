/**
 * What somebody wrote, as Markdown. `marked` only reads it; its tokens become elements here, one kind each, so no text
 * ever becomes HTML: raw HTML is shown as it was typed, and links lead to the web or to nowhere.
 */
import { Lexer, type Token, type Tokens } from "marked";
import { Fragment, memo, type ReactNode } from "react";
import { safeLink } from "./safe-link.js";
import "./markdown.css";

/** Deeper lists and quotes are shown as text. */
const DEPTH_MAX = 12;

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return <div className="markdown">{blocks(new Lexer({ gfm: true }).lex(text), 0)}</div>;
});

function blocks(tokens: readonly Token[], depth: number): ReactNode {
  return tokens.map((token, index) => <Fragment key={index}>{block(token, depth)}</Fragment>);
}

function block(token: Token, depth: number): ReactNode {
  if (depth > DEPTH_MAX) {
    return token.raw;
  }
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return heading(token as Tokens.Heading, depth);
    case "paragraph":
      return <p>{inlines((token as Tokens.Paragraph).tokens, depth)}</p>;
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens === undefined ? unescaped(text) : inlines(tokens, depth);
    }
    case "code":
      return (
        <pre tabIndex={0}>
          <code>{(token as Tokens.Code).text}</code>
        </pre>
      );
    case "blockquote":
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens, depth + 1)}</blockquote>;
    case "list":
      return list(token as Tokens.List, depth);
    case "table":
      return table(token as Tokens.Table, depth);
    case "hr":
      return <hr />;
    case "html":
      return <p>{token.raw}</p>;
    default:
      return inline(token, depth);
  }
}

/** The page's title is the first level, so a text begins with the second. */
function heading({ depth: level, tokens }: Tokens.Heading, depth: number): ReactNode {
  const content = inlines(tokens, depth);
  return level === 1 ? <h2>{content}</h2> : level === 2 ? <h3>{content}</h3> : <h4>{content}</h4>;
}

function list({ ordered, start, items }: Tokens.List, depth: number): ReactNode {
  const entries = items.map((item, index) => (
    <li key={index}>
      {item.task && <>{item.checked === true ? "☑ " : "☐ "}</>}
      {blocks(item.tokens.filter(({ type }) => type !== "checkbox"), depth + 1)}
    </li>
  ));
  return ordered ? <ol start={start === "" ? 1 : start}>{entries}</ol> : <ul>{entries}</ul>;
}

function table({ header, rows }: Tokens.Table, depth: number): ReactNode {
  return (
    <div className="markdown-table" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {header.map(({ tokens }, index) => (
              <th key={index} scope="col">{inlines(tokens, depth)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map(({ tokens }, cell) => (
                <td key={cell}>{inlines(tokens, depth)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inlines(tokens: readonly Token[] | undefined, depth: number): ReactNode {
  return (tokens ?? []).map((token, index) => <Fragment key={index}>{inline(token, depth + 1)}</Fragment>);
}

function inline(token: Token, depth: number): ReactNode {
  if (depth > DEPTH_MAX) {
    return token.raw;
  }
  switch (token.type) {
    case "strong":
      return <strong>{inlines((token as Tokens.Strong).tokens, depth)}</strong>;
    case "em":
      return <em>{inlines((token as Tokens.Em).tokens, depth)}</em>;
    case "del":
      return <del>{inlines((token as Tokens.Del).tokens, depth)}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link": {
      const { href, tokens } = token as Tokens.Link;
      return link(href, inlines(tokens, depth));
    }
    // Pictures of other hosts would tell them who reads; they are links instead.
    case "image": {
      const { href, text } = token as Tokens.Image;
      return link(href, text === "" ? "picture" : unescaped(text));
    }
    case "escape":
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens === undefined ? unescaped(text) : inlines(tokens, depth);
    }
    default:
      return token.raw;
  }
}

function link(href: string, content: ReactNode): ReactNode {
  const target = safeLink(href);
  return target === null ? content : <a href={target} rel="nofollow ugc noopener">{content}</a>;
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: "\u00a0" };

/** Text as it is read: the few entities that people type become the characters they stand for. */
function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => entities[name] ?? "");
}
