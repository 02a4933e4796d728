import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { buildSchema, getVariableValues, Kind, parse, validate, type OperationDefinitionNode } from "graphql";
import { describe, expect, test } from "vitest";
import { examples, variablesText, type Example } from "./examples.js";

const schema = buildSchema(readFileSync(resolve(import.meta.dirname, "../../../schema.graphql"), "utf8"));
const sample = {
  userId: "u",
  postId: "p",
  ownPostId: "o",
  freeUsername: "reader",
  categoryId: "g",
  productId: "d",
  tagId: "t",
};

describe("the examples", () => {
  test("there is one for each request of the blogging platform and of the web store", () => {
    expect(examples.map(({ request }) => request).toSorted()).toEqual([
      "C1",
      "C2",
      "C3",
      "C4",
      "Q1",
      "Q2",
      "Q3",
      "Q4",
      "Q5",
      "Q6",
      ...Array.from({ length: 15 }, (_, index) => `W${String(index + 1).padStart(2, "0")}`),
    ]);
  });

  test("the first needs no id, so that it runs on any data", () => {
    expect(JSON.stringify(examples[0].variables(sample))).toBe('{"first":10,"model":"V3"}');
  });

  test("every operation has a name of its own that opens with its request", () => {
    const names = examples.flatMap((example) =>
      operationsOf(example).map(({ name }) => {
        expect(name?.value.startsWith(example.request)).toBe(true);
        return name?.value;
      }),
    );
    expect(new Set(names).size).toBe(names.length);
  });

  test.each(examples)("$request is valid against the server's schema", ({ document }) => {
    // One document may hold several operations, each run by its name.
    expect(validate(schema, parse(document))).toEqual([]);
  });

  test.each(examples)("$request opens with variables that its operations take, and no other", (example) => {
    const variables = JSON.parse(variablesText(example, sample)) as Record<string, unknown>;
    const declared = new Set<string>();
    for (const { variableDefinitions = [] } of operationsOf(example)) {
      expect(getVariableValues(schema, variableDefinitions, variables).errors).toBeUndefined();
      variableDefinitions.forEach(({ variable }) => declared.add(variable.name.value));
    }
    expect([...declared]).toEqual(expect.arrayContaining(Object.keys(variables)));
  });
});

function operationsOf({ document }: Example): OperationDefinitionNode[] {
  return parse(document).definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
}
