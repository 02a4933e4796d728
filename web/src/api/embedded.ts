/**
 * The responses that the server wrote into the page: the first query of the page finds its response there
 * and sends no request. An anonymous reader gets these responses; the pages of other readers ask again.
 */
import {
  makeResult,
  stringifyVariables,
  type Exchange,
  type ExecutionResult,
  type Operation,
  type OperationResult,
  type RequestPolicy,
} from "@urql/core";
import { useState } from "react";
import { filter, map, merge, pipe, share } from "wonka";
import { lastPosition } from "./position.js";
import { currentSession } from "./session.js";

interface Embedded {
  operation: string;
  variables: Readonly<Record<string, unknown>>;
  response: ExecutionResult;
}

/** The responses that no query has taken; null until they are read. */
let waiting: Embedded[] | null = null;
/** The address of the page that the server wrote, and whether another one was opened since. */
const loadedAddress = addressOfPage();
let isForgotten = false;

/** Whether the server wrote responses into this page. */
export function hasEmbedded(): boolean {
  return element() !== null;
}

/** The responses of the loaded page are of no use to another page. */
export function forgetEmbedded(): void {
  waiting = [];
  isForgotten = true;
}

/** Whether a request would bring the same response. It would not for a signed-in reader. */
function isFresh(): boolean {
  const [navigation] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  return currentSession() === null && lastPosition() === undefined && navigation?.type !== "back_forward";
}

/** The path of the page, and the words where it is a search. */
function addressOfPage(): string {
  return location.pathname + location.search;
}

/** The request policy of a page: the cache and the server, unless the responses are embedded. */
export function usePagePolicy(): RequestPolicy {
  const [policy] = useState<RequestPolicy>(() =>
    !isForgotten && addressOfPage() === loadedAddress && hasEmbedded() && isFresh()
      ? "cache-first"
      : "cache-and-network",
  );
  return policy;
}

/** Answers queries from the page. */
export const embeddedExchange: Exchange =
  ({ forward }) =>
  (operations) => {
    const seen = pipe(
      operations,
      map((operation) => ({ operation, result: taken(operation) })),
      share,
    );
    const found = pipe(
      seen,
      map(({ result }) => result),
      filter((result) => result !== null),
    );
    const sent = pipe(
      seen,
      filter(({ result }) => result === null),
      map(({ operation }) => operation),
      forward,
    );
    return merge([found, sent]);
  };

/** The response to a query, which takes it; null where the page has none. */
function taken(operation: Operation): OperationResult | null {
  if (operation.kind !== "query") {
    return null;
  }
  waiting ??= embedded();
  const index = waiting.findIndex(
    ({ operation: name, variables }) =>
      name === nameOf(operation) && stringifyVariables(variables) === stringifyVariables(operation.variables ?? {}),
  );
  const [found] = index < 0 ? [] : waiting.splice(index, 1);
  return found === undefined ? null : makeResult(operation, found.response);
}

function embedded(): Embedded[] {
  const text = element()?.textContent;
  return text === undefined || text === "" ? [] : (JSON.parse(text) as Embedded[]);
}

function element(): Element | null {
  return document.querySelector("#embedded");
}

/** The name of an operation. */
export function nameOf({ query }: Operation): string {
  const [operation] = query.definitions as readonly { name?: { value: string } }[];
  return operation?.name?.value ?? "Anonymous";
}
