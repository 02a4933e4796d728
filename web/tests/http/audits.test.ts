/**
 * The server as the audits of `graphql-http` see it, which is the reference implementation of GraphQL over
 * HTTP.
 */
import { serverAudits } from "graphql-http";
import { describe, expect, test } from "vitest";
import { workerUrl } from "../worker.js";

const AUDITS = 61;

const audits = serverAudits({ url: `${workerUrl}/graphql` });

describe("GraphQL over HTTP", () => {
  test(`has ${AUDITS} audits`, () => {
    expect(new Set(audits.map(({ id }) => id)).size).toBe(AUDITS);
  });

  test.each(audits)("$id: $name", async ({ fn }) => {
    const result = await fn();
    // A notice or a warning of a mere recommendation does not do.
    expect(result.status, "reason" in result ? result.reason : "").toBe("ok");
  });
});
