/** Introspection of the schema before GraphiQL opens, and whether the server allows it. */
import { getIntrospectionQuery } from "graphql";
import { authorization, postGraphql, type GraphqlResponse } from "../api/request.js";

/** How long the playground waits for the schema before it leaves asking to GraphiQL. */
const INTROSPECTION_TIMEOUT_MS = 3_000;

/** What GraphiQL asks unless it is set otherwise. */
export const INTROSPECTION_QUERY = getIntrospectionQuery({ inputValueDeprecation: false, schemaDescription: false });
export const INTROSPECTION_NAME = "IntrospectionQuery";

/** What may be run here, and whether there is a schema to type by. */
export type SchemaAccess = "available" | "disabled" | "trusted-only";

export interface Introspection {
  access: SchemaAccess;
  /** To be handed to GraphiQL in place of a request of its own; null where nothing came. */
  response: GraphqlResponse | null;
}

/** Never fails: where nothing comes, GraphiQL asks by itself and says what is wrong. */
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
