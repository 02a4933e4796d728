import { counted } from "../ui/count.js";
import { BrowseItemsDocument } from "./browse.generated.js";
import { sourceInWords, PAGE_ITEMS, type Model, type ModelField, type ModelType } from "./model.js";
import { Pages, usePositions } from "./Pages.js";
import { useRead } from "./use-read.js";

/** The items of a type page by page, and its fields and lists. */
export function TypeView({ type }: { model: Model; type: ModelType }) {
  const positions = usePositions();
  const read = useRead(BrowseItemsDocument, { type: type.name, first: PAGE_ITEMS, after: positions.after });
  return (
    <>
      <p className="browse-path">
        <a href="#/">Model</a>
      </p>
      <h1>{type.name}</h1>
      <p className="browse-lead">
        {type.description} Items are in the container <code>{type.container}</code>, by{" "}
        <code>/{type.key.join(" /")}</code>.
      </p>
      <Pages
        read={read}
        pageOf={({ items }) => items}
        positions={positions}
        type={type}
        empty={`There is no ${type.name} yet.`}
      />
      <section className="browse-section" aria-labelledby="fields-title">
        <h2 id="fields-title">{counted(type.fields.length, "field")}</h2>
        <Fields fields={type.fields} />
      </section>
      {type.lists.length > 0 && (
        <section className="browse-section" aria-labelledby="lists-title">
          <h2 id="lists-title">{counted(type.lists.length, "list")}</h2>
          <p className="browse-soft">Open an item to see the entries of its lists.</p>
          <ul className="browse-lists">
            {type.lists.map((list) => (
              <li key={list.name}>
                <strong>{list.field}</strong> of {list.itemType}
                <span className="browse-soft">
                  {sourceInWords(list)}
                  {typeof list.container === "string" && `, in ${list.container}`}
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function Fields({ fields }: { fields: readonly ModelField[] }) {
  return (
    <div className="browse-scroll" tabIndex={0} role="region" aria-label="Fields">
      <table>
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Type</th>
            <th scope="col">Stored as</th>
            <th scope="col">Notes</th>
          </tr>
        </thead>
        <tbody>
          {fields.map((field) => (
            <tr key={field.name}>
              <th scope="row">{field.name}</th>
              <td>
                <code>{field.type}</code>
              </td>
              <td>{typeof field.property === "string" ? <code>{field.property}</code> : "not stored"}</td>
              <td>{notesOf(field)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function notesOf({ kind, target, copies, isHidden, isSecret }: ModelField): string {
  const notes: string[] = [];
  if (kind === "COUNT") {
    notes.push("count");
  }
  if (typeof target === "string") {
    notes.push(`reference to ${target}`);
  }
  if (copies.length > 0) {
    notes.push(`copies: ${copies.join(", ")}`);
  }
  if (isHidden) {
    notes.push("hidden from the API");
  }
  if (isSecret) {
    notes.push("secret: values are not shown");
  }
  return notes.join("; ");
}
