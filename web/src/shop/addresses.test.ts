import { expect, test } from "vitest";
import { ADDRESSES_MAX, emptyAddress, inputOf, linesOf, withFirst } from "./addresses.js";

function address(addressLine1: string) {
  const optional = { addressLine2: null, state: null };
  return {
    __typename: "CustomerAddress" as const,
    addressLine1,
    zipCode: "8001",
    city: "Zürich",
    country: "CH",
    ...optional,
  };
}

test("a typed address leaves out optional lines without text", () => {
  expect(inputOf({ ...emptyAddress, addressLine1: " Hill 1 ", state: " " })).toEqual({
    addressLine1: "Hill 1",
    zipCode: "",
    city: "",
    country: "",
  });
});

test("the chosen address comes first and is there once", () => {
  const known = [address("A"), address("B")];
  expect(withFirst(known, address("B")).map(({ addressLine1 }) => addressLine1)).toEqual(["B", "A"]);
  const full = Array.from({ length: ADDRESSES_MAX }, (_, index) => address(String(index)));
  expect(withFirst(full, address("new"))).toHaveLength(ADDRESSES_MAX);
});

test("an address is written in lines without gaps", () => {
  expect(linesOf(address("Hill 1"))).toEqual(["Hill 1", "8001 Zürich", "CH"]);
});
