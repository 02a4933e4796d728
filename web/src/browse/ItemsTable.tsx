import { useState } from "react";
import { When } from "../ui/When.js";
import { inOneLine, inOrder, propertiesOf, shortId, type Item, type ModelType } from "./model.js";
import { addressOf } from "./places.js";

/** Properties that the table has in columns of their own, or that say nothing. */
const LEFT_OUT = ["id", "type", "version"];
/** Columns of properties. The others are on the item's page. */
const COLUMNS_MAX = 7;
/** Characters of a value in a cell. */
const CHARS_MAX = 48;

/** Items as a table, or as JSON. */
export function ItemsTable({ items, type }: { items: readonly Item[]; type: ModelType | undefined }) {
  const [isJson, setJson] = useState(false);
  return (
    <>
      <div className="browse-switch" role="group" aria-label="Form of the items">
        <button
          type="button"
          aria-pressed={!isJson}
          onClick={() => {
            setJson(false);
          }}
        >
          Table
        </button>
        <button
          type="button"
          aria-pressed={isJson}
          onClick={() => {
            setJson(true);
          }}
        >
          JSON
        </button>
      </div>
      {isJson ? <AsJson items={items} /> : <AsTable items={items} type={type} />}
    </>
  );
}

function AsTable({ items, type }: { items: readonly Item[]; type: ModelType | undefined }) {
  const columns = columnsOf(items, type);
  const hasTimes = items.some(({ writtenAt }) => writtenAt !== null);
  return (
    <div className="browse-scroll browse-items" tabIndex={0} role="region" aria-label="Items">
      <table>
        <thead>
          <tr>
            <th scope="col">id</th>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
            {hasTimes && <th scope="col">written</th>}
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={`${item.partitionKey.join("/")} ${item.id}`}>
              <th scope="row">
                <a href={addressOfItem(item)}>
                  <code>{cut(item.id)}</code>
                </a>
              </th>
              {columns.map((column) => (
                <td key={column}>
                  <bdi>{cut(inOneLine(propertiesOf(item)[column]))}</bdi>
                </td>
              ))}
              {hasTimes && <td className="browse-soft">{item.writtenAt !== null && <When date={item.writtenAt} />}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function AsJson({ items }: { items: readonly Item[] }) {
  return items.map((item) => (
    <article key={`${item.partitionKey.join("/")} ${item.id}`} className="browse-json">
      <a href={addressOfItem(item)}>
        <code>{item.id}</code>
      </a>
      <pre tabIndex={0} role="region" aria-label={`Item ${item.id}`}>
        {JSON.stringify(item.body, null, 2)}
      </pre>
    </article>
  ));
}

export function addressOfItem({ type, id, partitionKey }: Pick<Item, "type" | "id" | "partitionKey">): string {
  return addressOf({ page: "item", type, id, partitionKey });
}

/** The properties of the items that have a column. */
function columnsOf(items: readonly Item[], type: ModelType | undefined): string[] {
  const present = items.flatMap((item) => Object.keys(propertiesOf(item)));
  return inOrder(present, type)
    .filter((property) => !LEFT_OUT.includes(property))
    .slice(0, COLUMNS_MAX);
}

function cut(text: string): string {
  return text.length > CHARS_MAX ? `${text.slice(0, CHARS_MAX - 1)}…` : shortId(text);
}
