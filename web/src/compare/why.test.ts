import { expect, test } from "vitest";
import { why, type Plan } from "./why.js";

function plan(model: "V1" | "V3", requestCharge: number, operations: Partial<Plan["operations"][number]>[]): Plan {
  const none = {
    container: "posts",
    kind: "QUERY" as const,
    times: 1,
    items: 1,
    physicalPartitions: 1,
    requestCharge: 0,
  };
  return {
    model,
    batched: false,
    requestCharge,
    chargeSource: "ESTIMATED",
    durationMs: 1,
    operations: operations.map((operation) => ({ ...none, ...operation })),
  };
}

test("where they differ it says what each of them does", () => {
  const v1 = plan("V1", 600, [{ physicalPartitions: 70 }, { kind: "POINT_READ", container: "users", times: 28 }]);
  const v3 = plan("V3", 6, [{ container: "users" }]);
  expect(why([v1, v3])).toBe(
    "V3 costs 1/100 of V1. V3 runs 1 query in users; V1 runs 1 query in posts across 70 physical partitions and 28 point reads in users.",
  );
});

test("where they do the same it says so", () => {
  const read = [{ kind: "POINT_READ" as const, container: "users" }];
  expect(why([plan("V1", 1, read), plan("V3", 1, read)])).toBe(
    "All data models do the same here: 1 point read in users.",
  );
});
