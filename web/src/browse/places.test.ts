import { expect, test } from "vitest";
import { addressOf, placeOf, type Place } from "./places.js";

const places: Place[] = [
  { page: "model" },
  { page: "read-models" },
  { page: "type", type: "Site" },
  { page: "item", type: "Site", id: "a/b%2F#?", partitionKey: ["é 1"] },
  { page: "item", type: "Shelf", id: "1", partitionKey: ["north", "7/8"] },
  { page: "list", list: "Query.recentSites", owner: null },
  { page: "list", list: "Site.sightings", owner: { id: "1", partitionKey: ["1"] } },
];

test.each(places)("a place is found by its address: $page", (place) => {
  expect(placeOf(addressOf(place).slice(1))).toEqual(place);
});

test("an unknown address leads nowhere", () => {
  expect(placeOf("/elsewhere").page).toBe("nowhere");
  expect(placeOf("/types").page).toBe("nowhere");
});
