import type { Fetcher } from "@graphiql/toolkit";
import { authorization, postGraphql, type GraphqlResponse } from "../api/request.js";

export interface FetcherOptions {
  accessToken: () => string | null;
  /** Told of every response but those to introspection. */
  onResponse: (response: GraphqlResponse, operationName: string | null) => void;
}

/** GraphiQL's way to the server. An `Authorization` from the headers editor goes before the stored token. */
export function createFetcher({ accessToken, onResponse }: FetcherOptions): Fetcher {
  return async ({ query, variables, operationName = null }, options) => {
    const edited: Record<string, string> = options?.headers ?? {};
    const authorized = Object.keys(edited).some((name) => name.toLowerCase() === "authorization");
    const response = await postGraphql(
      { query, variables: variables as Record<string, unknown> | null, operationName },
      { headers: authorized ? edited : { ...authorization(accessToken()), ...edited } },
    );
    if (operationName !== "IntrospectionQuery") {
      onResponse(response, operationName);
    }
    return response;
  };
}
