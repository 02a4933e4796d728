import { initGraphQLTada } from "gql.tada";
import type { introspection } from "./graphql-env.js";

/**
 * Documents typed by the server's schema. `graphql-env.d.ts` comes from `schema.graphql` at the root of
 * the repository through `npm run generate`.
 */
export const graphql = initGraphQLTada<{
  introspection: introspection;
  scalars: { DateTime: string };
}>();

export { readFragment } from "gql.tada";
export type { FragmentOf, ResultOf, VariablesOf } from "gql.tada";

export type DataModel = ReturnType<typeof graphql.scalar<"DataModel">>;
