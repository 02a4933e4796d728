import type { BrowseItemsQuery, BrowseModelQuery } from "./browse.generated.js";

export type Model = BrowseModelQuery["model"];
export type ModelType = Model["types"][number];
export type ModelField = ModelType["fields"][number];
export type ModelList = Model["queries"][number];
export type Item = BrowseItemsQuery["items"]["items"][number];

/** Items of one page. */
export const PAGE_ITEMS = 20;

/** The properties of an item. */
export function propertiesOf(item: Item): Record<string, unknown> {
  return typeof item.body === "object" && item.body !== null ? (item.body as Record<string, unknown>) : {};
}

/** The list of a name, and the type of its owner; null for a list of the whole model. */
export function listNamed(model: Model, name: string): { list: ModelList; owner: ModelType | null } | undefined {
  const ofQuery = model.queries.find((list) => list.name === name);
  if (ofQuery !== undefined) {
    return { list: ofQuery, owner: null };
  }
  for (const owner of model.types) {
    const list = owner.lists.find((each) => each.name === name);
    if (list !== undefined) {
      return { list, owner };
    }
  }
  return undefined;
}

const SOURCES = {
  PARTITION: "one logical partition",
  FIND: "query across partitions",
  READ_MODEL: "read model",
} as const;

/** The source of a list's items. */
export function sourceInWords({ source, keep }: ModelList): string {
  return keep === null ? SOURCES[source] : `${SOURCES[source]}, first ${keep}`;
}

/** The target of a reference, where its partition key is known from the item. */
export function targetOf(
  model: Model,
  field: ModelField,
  properties: Record<string, unknown>,
  id: string,
): { type: string; id: string; partitionKey: string[] } | null {
  const target = model.types.find(({ name }) => name === field.target);
  if (target === undefined) {
    return null;
  }
  if (field.targetKey.length > 0) {
    const values = field.targetKey.map((property) => properties[property]);
    const isKnown = (value: unknown): value is string => typeof value === "string";
    return values.every(isKnown) ? { type: target.name, id, partitionKey: values } : null;
  }
  switch (target.keySource) {
    case "ID":
      return { type: target.name, id, partitionKey: [id] };
    case "TYPE":
      return { type: target.name, id, partitionKey: [target.type] };
    default:
      return null;
  }
}

/** Properties that every item has, in their order. */
const COMMON = ["id", "type"];

/** The names of properties: common ones, those of the model's fields in their order, and all others. */
export function inOrder(properties: readonly string[], type: ModelType | undefined): string[] {
  const declared = (type?.fields ?? []).flatMap(({ property }) => (property === null ? [] : [property]));
  const present = new Set(properties);
  return [...new Set([...COMMON, ...declared, ...properties])].filter((property) => present.has(property));
}

const UUID = /^[0-9a-f]{8}-[0-9a-f-]{21}([0-9a-f]{6})$/;

/** The beginning and the end of a UUID: those of one time begin alike. Other texts stay as they are. */
export function shortId(id: string): string {
  const end = UUID.exec(id)?.[1];
  return end === undefined ? id : `${id.slice(0, 8)}…${end}`;
}

/** A value in one line. */
export function inOneLine(value: unknown): string {
  return typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);
}
