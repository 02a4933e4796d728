import type { Fetcher, FetcherOpts, FetcherParams } from "@graphiql/toolkit";
import { getOperationAST, OperationTypeNode, type DocumentNode } from "graphql";
import { createClient, type RequestParams } from "graphql-sse";
import { authorization, ENDPOINT, postGraphql, type GraphqlRequest, type GraphqlResponse } from "../api/request.js";
import { INTROSPECTION_NAME, INTROSPECTION_QUERY } from "./introspection.js";

export interface FetcherOptions {
  accessToken: () => string | null;
  /** Receives every response except answers to introspection, and every event of a subscription. */
  onResponse: (response: GraphqlResponse, operationName: string | null) => void;
  /** The schema, if it is there already: the answer to GraphiQL's first introspection. */
  introspected?: GraphqlResponse | null;
}

/**
 * GraphiQL's way to the server: one request for an answer, server-sent events for a subscription. An
 * `Authorization` from the headers editor goes before the stored token.
 */
export function createFetcher({ accessToken, onResponse, introspected = null }: FetcherOptions): Fetcher {
  let known = introspected;
  const fetcher = async (
    { query, variables, operationName = null }: FetcherParams,
    options?: FetcherOpts,
  ): Promise<GraphqlResponse | AsyncIterableIterator<GraphqlResponse>> => {
    const edited: Record<string, string> = options?.headers ?? {};
    const authorized = Object.keys(edited).some((name) => name.toLowerCase() === "authorization");
    const headers = authorized ? edited : { ...authorization(accessToken()), ...edited };
    const request: GraphqlRequest = { query, variables: variables as Record<string, unknown> | null, operationName };
    const report = (response: GraphqlResponse): void => {
      onResponse(response, operationName);
    };
    if (options?.documentAST !== undefined && isSubscription(options.documentAST, operationName)) {
      return subscribe(request, headers, report);
    }
    if (known !== null && query === INTROSPECTION_QUERY) {
      const response = known;
      known = null;
      return response;
    }
    const response = await postGraphql(request, { headers });
    if (operationName !== INTROSPECTION_NAME) {
      report(response);
    }
    return response;
  };
  // GraphiQL types the errors of a response as errors of its own executor.
  return fetcher as Fetcher;
}

function isSubscription(document: DocumentNode, operationName: string | null): boolean {
  return getOperationAST(document, operationName)?.operation === OperationTypeNode.SUBSCRIPTION;
}

/**
 * The events, until GraphiQL has enough of them. A connection that breaks off is not taken up again unasked.
 */
function subscribe(
  { query, variables, operationName }: GraphqlRequest,
  headers: Record<string, string>,
  report: (response: GraphqlResponse) => void,
): AsyncIterableIterator<GraphqlResponse> {
  const client = createClient({ url: ENDPOINT, headers, retryAttempts: 0 });
  const params: RequestParams = {
    query,
    ...(variables == null ? {} : { variables }),
    ...(operationName == null ? {} : { operationName }),
  };
  // The events are responses as they came; the client only types them otherwise.
  const events = client.iterate(params) as AsyncIterableIterator<GraphqlResponse, undefined>;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      const event = await events.next();
      if (event.done !== true) {
        report(event.value);
      }
      return event;
    },
    return: () => events.return?.() ?? Promise.resolve({ done: true, value: undefined }),
  };
}
