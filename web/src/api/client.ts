/**
 * The client that all pages ask: a normalising cache, the charge of each response, reading one's own writes,
 * and live events over one WebSocket.
 */
import {
  Client,
  fetchExchange,
  makeOperation,
  mapExchange,
  subscriptionExchange,
  type Operation,
  type SubscriptionForwarder,
} from "@urql/core";
import { createClient as createLiveClient } from "graphql-ws";
import { enterCharge } from "../charges/ledger.js";
import { cache, type MutationUpdates } from "./cache.js";
import { connectionLost, connectionMade, onReconnect, subscriptionEnded } from "./connection.js";
import { embeddedExchange, nameOf } from "./embedded.js";
import { codeOf } from "./errors.js";
import { bodyWithoutRefusedPosition, forgetPosition, lastPosition, rememberPosition } from "./position.js";
import { authorization, ENDPOINT } from "./request.js";
import { SESSION_COOKIE_HEADER } from "./renewal.js";
import { accessToken, accessTokenAfter, signOutSettled } from "./session.js";
import { ShownQueries } from "./shown-queries.js";
import { needSignIn } from "./sign-in-need.js";

/** The longest wait between two attempts at the live connection, in milliseconds. */
const RETRY_MS_MAX = 10_000;
/** The wait after the first failed attempt, in milliseconds; each further one doubles it. */
const RETRY_MS = 500;
/**
 * One connection for as long as the page is open, so that it is also known whether the server is there. The
 * subscriptions of pages are the same for all users, so this connection has no token and outlives each one.
 */
const live = createLiveClient({
  url: new URL(ENDPOINT, location.href).href.replace(/^http/, "ws"),
  lazy: false,
  retryAttempts: Number.POSITIVE_INFINITY,
  shouldRetry: () => true,
  retryWait: (retries) => wait(Math.min(RETRY_MS * 2 ** retries, RETRY_MS_MAX)),
  on: {
    connected: (_socket, _payload, wasRetry) => {
      connectionMade(wasRetry);
    },
    closed: connectionLost,
  },
});

/** On whose behalf a client sends requests. */
export interface Identity {
  /** The token of the next request; null for an anonymous one. */
  accessToken: () => Promise<string | null>;
  /** Another token in place of a refused one; null once the session has ended. */
  accessTokenAfter: (refused: string) => Promise<string | null>;
  /** Settles once no sign-out is on its way to the server. */
  signOutSettled: () => Promise<void>;
  /** A mutation was refused for want of a session. */
  signInNeeded: () => void;
  /** Whether its live events are for it alone. Each subscription is an event stream with its token then. */
  hasPrivateEvents?: boolean;
}

/** The signed-in user of the blog. */
const user: Identity = {
  accessToken,
  accessTokenAfter,
  signOutSettled,
  signInNeeded: () => {
    needSignIn(true);
  },
};

/** A client with an empty cache. Answers depend on who asks, so each user has one of their own. */
export function createClient(identity = user, cacheUpdates: MutationUpdates = {}): Client {
  const shown = new ShownQueries();
  const client = new Client({
    url: ENDPOINT,
    preferGetMethod: false,
    fetch: (url, init) => fetchWithPosition(identity, url, init),
    fetchOptions: { headers: { accept: "application/graphql-response+json" } },
    exchanges: [
      mapExchange({
        onOperation: (operation) => {
          shown.note(operation);
        },
      }),
      cache(cacheUpdates),
      mapExchange({
        onOperation: (operation) =>
          operation.kind === "subscription" && identity.hasPrivateEvents === true
            ? asEventStream(operation)
            : withExtensions(operation),
        onResult({ operation, extensions, error }) {
          enterCharge(nameOf(operation), extensions);
          if (operation.kind === "mutation") {
            rememberPosition(extensions);
            if (codeOf(error) === "UNAUTHENTICATED") {
              identity.signInNeeded();
            }
          } else if (extensions?.reached === true) {
            forgetPosition(String(operation.extensions?.position));
          }
        },
      }),
      embeddedExchange,
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: ({ query, variables }) => ({
          subscribe: (sink) => listen(query ?? "", variables as Record<string, unknown> | undefined, sink),
        }),
      }),
    ],
  });
  onReconnect(() => {
    shown.refetch(client);
  });
  return client;
}

/** Hands on events until the page has enough, or there is nothing more to come. */
function listen(
  query: string,
  variables: Record<string, unknown> | undefined,
  sink: Parameters<ReturnType<SubscriptionForwarder>["subscribe"]>[0],
): { unsubscribe: () => void } {
  let isWanted = true;
  const stop = live.subscribe(
    { query, variables },
    {
      next: sink.next.bind(sink) as Parameters<typeof live.subscribe>[1]["next"],
      error: sink.error.bind(sink),
      complete: () => {
        // A sink that completes unsubscribes.
        const isEndedByServer = isWanted;
        sink.complete();
        if (isEndedByServer) {
          subscriptionEnded(variables);
        }
      },
    },
  );
  return {
    unsubscribe: () => {
      isWanted = false;
      stop();
    },
  };
}

/** Sends a subscription as a request of its own. */
function asEventStream(operation: Operation): Operation {
  return makeOperation(operation.kind, operation, {
    ...operation.context,
    fetchSubscriptions: true,
    fetchOptions: { headers: { accept: "text/event-stream" } },
  });
}

/**
 * Asks for the operations behind the charge, and names the position of this tab's writes: a query waits for
 * it, and the position of a mutation covers it.
 */
function withExtensions(operation: Operation): Operation {
  if (operation.kind !== "query" && operation.kind !== "mutation") {
    return operation;
  }
  const position = lastPosition();
  const extensions = { ...operation.extensions, operations: true, ...(position === undefined ? {} : { position }) };
  return makeOperation(operation.kind, { ...operation, extensions }, operation.context);
}

/** Asks again without the position when the server does not know it any more. */
async function fetchWithPosition(
  identity: Identity,
  url: RequestInfo | URL,
  init: RequestInit = {},
): Promise<Response> {
  const response = await fetchAs(identity, url, init);
  const body = await bodyWithoutRefusedPosition(init.body, response);
  return body === undefined ? response : fetchAs(identity, url, { ...init, body });
}

/**
 * Sends the access token, and another one when the server does not take it. When the session has ended, a
 * query is asked again without a token, since reading needs no token; a mutation is refused, and the form
 * keeps its input.
 */
async function fetchAs(identity: Identity, url: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const isWriting = isMutation(init.body);
  const asking = { ...(init.headers as Record<string, string>), ...(isWriting ? SESSION_COOKIE_HEADER : {}) };
  const send = (bearer: string | null): Promise<Response> =>
    fetch(url, { ...init, headers: { ...asking, ...authorization(bearer) } });
  if (isWriting) {
    // It may be a sign-in.
    await identity.signOutSettled();
  }
  const token = await identity.accessToken();
  const response = await send(token);
  if (response.status !== 401 || token === null) {
    return response;
  }
  const another = await identity.accessTokenAfter(token);
  return another === null && isWriting ? response : send(another);
}

function isMutation(body: unknown): boolean {
  return typeof body === "string" && (JSON.parse(body) as { query: string }).query.trimStart().startsWith("mutation");
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
