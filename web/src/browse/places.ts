/** Places of the pages: fragments of the address, so that no id of an item reaches a log of requests. */

export type Place =
  | { page: "model" }
  | { page: "type"; type: string }
  | { page: "item"; type: string; id: string; partitionKey: string[] }
  | { page: "list"; list: string; owner: { id: string; partitionKey: string[] } | null }
  | { page: "read-models" }
  | { page: "nowhere" };

/** The place of a fragment without its `#`. */
export function placeOf(fragment: string): Place {
  const parts = fragment.split("/").filter((part) => part !== "");
  const [page, name, id, ...partitionKey] = parts.map(decoded);
  switch (page) {
    case undefined:
      return { page: "model" };
    case "read-models":
      return { page: "read-models" };
    case "types":
      return name === undefined
        ? { page: "nowhere" }
        : id === undefined
          ? { page: "type", type: name }
          : { page: "item", type: name, id, partitionKey };
    case "lists":
      return name === undefined
        ? { page: "nowhere" }
        : { page: "list", list: name, owner: id === undefined ? null : { id, partitionKey } };
    default:
      return { page: "nowhere" };
  }
}

/** The address of a place within the page. */
export function addressOf(place: Place): string {
  switch (place.page) {
    case "type":
      return address("types", place.type);
    case "item":
      return address("types", place.type, place.id, ...place.partitionKey);
    case "list":
      return address(
        "lists",
        place.list,
        ...(place.owner === null ? [] : [place.owner.id, ...place.owner.partitionKey]),
      );
    case "read-models":
      return "#/read-models";
    default:
      return "#/";
  }
}

function address(...parts: string[]): string {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
