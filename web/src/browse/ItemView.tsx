import type { ReactNode } from "react";
import { Notice } from "../ui/Notice.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { When } from "../ui/When.js";
import { BrowseItemDocument } from "./browse.generated.js";
import { Charge } from "./Charge.js";
import { FailedRead } from "./FailedRead.js";
import { addressOfItem } from "./ItemsTable.js";
import {
  inOneLine,
  inOrder,
  propertiesOf,
  sourceInWords,
  targetOf,
  type Item,
  type Model,
  type ModelType,
} from "./model.js";
import { addressOf } from "./places.js";
import { useRead } from "./use-read.js";

const numbers = new Intl.NumberFormat("en");

/** One item: its properties with links along references, its lists, and its JSON. */
export function ItemView({
  model,
  type,
  id,
  partitionKey,
}: {
  model: Model;
  type: ModelType;
  id: string;
  partitionKey: string[];
}) {
  const read = useRead(BrowseItemDocument, { type: type.name, partitionKey, id });
  return (
    <>
      <p className="browse-path">
        <a href="#/">Model</a> › <a href={addressOf({ page: "type", type: type.name })}>{type.name}</a>
      </p>
      <h1 className="browse-id">{id}</h1>
      {read.state === "loading" ? (
        <SkeletonLines lines={8} />
      ) : read.state === "failed" ? (
        <FailedRead {...read} />
      ) : read.data.item === null ? (
        <>
          <Notice title="No such item">
            <p>It was deleted, or its key is another one.</p>
          </Notice>
          <Charge requestCharge={read.requestCharge} />
        </>
      ) : (
        <Shown model={model} type={type} item={read.data.item} requestCharge={read.requestCharge} />
      )}
    </>
  );
}

function Shown({
  model,
  type,
  item,
  requestCharge,
}: {
  model: Model;
  type: ModelType;
  item: Item;
  requestCharge: number | null;
}) {
  const properties = propertiesOf(item);
  return (
    <>
      <p className="browse-lead">
        Logical partition <code>{item.partitionKey.join(" / ")}</code> of <code>{type.container}</code> ·{" "}
        {numbers.format(item.bytes)} bytes
        {typeof item.writtenAt === "string" && (
          <>
            {" "}
            · written <When date={item.writtenAt} />
          </>
        )}
      </p>
      <div className="browse-scroll" tabIndex={0} role="region" aria-label="Properties">
        <table className="browse-properties">
          <tbody>
            {inOrder(Object.keys(properties), type).map((property) => (
              <tr key={property}>
                <th scope="row">
                  <code>{property}</code>
                </th>
                <td>{linked(model, type, properties, property)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Charge requestCharge={requestCharge} />
      {type.lists.length > 0 && (
        <section className="browse-section" aria-labelledby="lists-title">
          <h2 id="lists-title">Lists of this item</h2>
          <ul className="browse-lists">
            {type.lists.map((list) => (
              <li key={list.name}>
                <a
                  href={addressOf({
                    page: "list",
                    list: list.name,
                    owner: { id: item.id, partitionKey: item.partitionKey },
                  })}
                >
                  {list.field}
                </a>{" "}
                of {list.itemType}
                <span className="browse-soft">{sourceInWords(list)}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      <details className="browse-section">
        <summary>JSON</summary>
        <pre tabIndex={0} role="region" aria-label="JSON of the item">
          {JSON.stringify(item.body, null, 2)}
        </pre>
      </details>
    </>
  );
}

/** A value, with links to the items that it refers to. */
function linked(model: Model, type: ModelType, properties: Record<string, unknown>, property: string): ReactNode {
  const value = properties[property];
  const reference = type.fields.find((field) => field.property === property && typeof field.target === "string");
  const link = (id: string): ReactNode => {
    const target = reference === undefined ? null : targetOf(model, reference, properties, id);
    return target === null ? <bdi>{id}</bdi> : <a href={addressOfItem(target)}>{id}</a>;
  };
  if (reference !== undefined && typeof value === "string") {
    return link(value);
  }
  if (reference !== undefined && Array.isArray(value) && value.every((each) => typeof each === "string")) {
    return (
      <ul>
        {value.map((id) => (
          <li key={id}>{link(id)}</li>
        ))}
      </ul>
    );
  }
  return typeof value === "object" && value !== null ? (
    <pre>{JSON.stringify(value, null, 2)}</pre>
  ) : (
    <bdi>{inOneLine(value)}</bdi>
  );
}
