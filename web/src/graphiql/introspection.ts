/** Introspection of the schema before GraphiQL opens, and whether the server allows it. */
import { getIntrospectionQuery } from "graphql";
import { authorization, postGraphql, type GraphqlResponse } from "../api/request.js";

/** The playground's wait for the schema before it leaves asking to GraphiQL. */
const INTROSPECTION_TIMEOUT_MS = 3_000;

/** The default introspection query of GraphiQL. */
export const INTROSPECTION_QUERY = getIntrospectionQuery({ inputValueDeprecation: false, schemaDescription: false });
export const INTROSPECTION_NAME = "IntrospectionQuery";

/** The documents that may run here, and whether there is a schema to type by. */
export type SchemaAccess = "available" | "disabled" | "trusted-only";

export interface Introspection {
  access: SchemaAccess;
  /** To be handed to GraphiQL in place of a request of its own; null where nothing came. */
  response: GraphqlResponse | null;
}

/** Never fails: without an answer, GraphiQL asks by itself and shows the error. */
export async function introspect(accessToken: string | null): Promise<Introspection> {
  const response = await postGraphql(
    { query: INTROSPECTION_QUERY, operationName: INTROSPECTION_NAME },
    {
      // With the other media type a refusal has a status that browsers report as an error.
      headers: { accept: "application/json", ...authorization(accessToken) },
      signal: AbortSignal.timeout(INTROSPECTION_TIMEOUT_MS),
    },
  ).catch(() => null);
  return { access: accessOf(response), response };
}

function accessOf(response: GraphqlResponse | null): SchemaAccess {
  switch (response?.errors?.[0]?.extensions?.code) {
    case "FORBIDDEN":
      return "trusted-only";
    case "GRAPHQL_VALIDATION_FAILED":
      return "disabled";
    default:
      return "available";
  }
}
