/**
 * GraphQL over HTTP: one request, one answer and its charge. Knows the transport and the shape of every
 * response, and nothing of any page's questions.
 */
import { print } from "@0no-co/graphql.web";
import type { TypedDocumentNode } from "@graphql-typed-document-node/core";

export const ENDPOINT = "/graphql";

export interface GraphqlRequest {
  query: string;
  variables?: Record<string, unknown> | null;
  operationName?: string | null;
}

export interface GraphqlError {
  message: string;
  extensions?: { code?: string };
}

/** A response as GraphQL over HTTP defines it; `data` and `errors` may both be there. */
export interface GraphqlResponse {
  data?: unknown;
  errors?: GraphqlError[];
  extensions?: Record<string, unknown>;
}

export interface Answer<Data> {
  data: Data;
  /** In request units; null where the server did not say. */
  requestCharge: number | null;
}

/** The server answered, and refused or failed. `code` is `errors[0].extensions.code`. */
export class RefusedRequest extends Error {
  readonly code: string | undefined;

  constructor({ message, extensions }: GraphqlError) {
    super(message);
    this.name = "RefusedRequest";
    this.code = extensions?.code;
  }
}

/** Nothing that reads as a GraphQL response came back. */
export class UnreachableServer extends Error {
  override readonly name = "UnreachableServer";
}

export interface AskOptions {
  accessToken?: string | null;
  signal?: AbortSignal | undefined;
  /** The path of the API. */
  endpoint?: string;
}

/**
 * Asks a typed question. Throws `RefusedRequest` when the response carries an error, `UnreachableServer`
 * without a response, and the signal's reason when aborted.
 */
export async function ask<Data, Variables extends Record<string, unknown>>(
  document: TypedDocumentNode<Data, Variables>,
  variables: NoInfer<Variables>,
  { accessToken = null, signal, endpoint }: AskOptions = {},
): Promise<Answer<Data>> {
  const response = await postGraphql(
    { query: print(document), variables },
    { headers: authorization(accessToken), signal, ...(endpoint === undefined ? {} : { endpoint }) },
  );
  const [error] = response.errors ?? [];
  if (error !== undefined) {
    throw new RefusedRequest(error);
  }
  return { data: response.data as Data, requestCharge: requestChargeOf(response) };
}

export interface PostOptions {
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  endpoint?: string;
}

export async function postGraphql(
  request: GraphqlRequest,
  { headers = {}, signal, endpoint = ENDPOINT }: PostOptions = {},
): Promise<GraphqlResponse> {
  let response: Response;
  try {
    response = await fetch(endpoint, {
      method: "POST",
      headers: {
        accept: "application/graphql-response+json, application/json;q=0.9",
        "content-type": "application/json",
        ...headers,
      },
      body: JSON.stringify(request),
      signal: signal ?? null,
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw new UnreachableServer("The server could not be reached.", { cause: error });
  }
  const body: unknown = await response.json().catch(() => undefined);
  signal?.throwIfAborted();
  if (!isGraphqlResponse(body)) {
    throw new UnreachableServer(`The server answered ${response.status} without a GraphQL response.`);
  }
  return body;
}

export function requestChargeOf(response: GraphqlResponse): number | null {
  const charge = response.extensions?.requestCharge;
  return typeof charge === "number" && Number.isFinite(charge) ? charge : null;
}

export function authorization(accessToken: string | null): Record<string, string> {
  return accessToken === null ? {} : { authorization: `Bearer ${accessToken}` };
}

function isGraphqlResponse(body: unknown): body is GraphqlResponse {
  return typeof body === "object" && body !== null && ("data" in body || "errors" in body);
}
