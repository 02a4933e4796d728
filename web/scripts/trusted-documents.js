/**
 * The documents that the pages send, each as its text goes over the wire, by its SHA-256: what `--trusted-documents` takes.
 * The texts are made by the functions that make them in the browser.
 */
import { createHash } from "node:crypto";
import { print } from "@0no-co/graphql.web";
import { formatDocument, stringifyDocument } from "@urql/core";

/** Where a generated file has a document, which is JSON. */
const DOCUMENT = /export const (\w+Document) = (\{.*\}) as unknown as DocumentNode</g;

/**
 * The file's text. Takes the generated files, the sources that send their documents, and the texts that are sent as they are.
 * Throws where nothing sends a document.
 */
export function trustedDocuments(generated, sources, plain) {
  const texts = generated
    .flatMap((text) => [...text.matchAll(DOCUMENT)])
    .flatMap(([, name, json]) => sent(name, json, sources));
  // By text, so that a document that changes stays where it is.
  const entries = [...new Set([...texts, ...plain])].toSorted().map((text) => [idOf(text), text]);
  return `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`;
}

/** The sent form of a document: as written by `ask`, with `__typename` by urql's client. */
function sent(name, json, sources) {
  const asks = new RegExp(`\\bask\\(\\s*${name}\\b`);
  const uses = new RegExp(`\\b(query: |query\\(|use(Query|Mutation|Subscription)\\()${name}\\b`);
  const texts = [];
  if (sources.some((source) => asks.test(source))) {
    texts.push(print(JSON.parse(json)));
  }
  if (sources.some((source) => uses.test(source))) {
    texts.push(stringifyDocument(formatDocument(JSON.parse(json))));
  }
  if (texts.length === 0) {
    throw new Error(`${name} is sent by nothing: remove it from its .graphql file.`);
  }
  return texts;
}

function idOf(text) {
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}
