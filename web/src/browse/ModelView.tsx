import { counted } from "../ui/count.js";
import { sourceInWords, type Model } from "./model.js";
import { addressOf } from "./places.js";

/** The types of the model, its lists without an owner, and its containers. */
export function ModelView({ model }: { model: Model }) {
  return (
    <>
      <h1>{model.name}</h1>
      <p className="browse-lead">
        Version {model.version} · {counted(model.types.length, "type")} ·{" "}
        {counted(model.containers.length, "container")}. Reading the model is free.
      </p>
      <ul className="browse-cards">
        {model.types.map(({ name, description, container, key, fields, lists, isAccount }) => (
          <li key={name} className="browse-card">
            <h2>
              <a href={addressOf({ page: "type", type: name })}>{name}</a>
              {isAccount && <span className="browse-tag">account</span>}
            </h2>
            {description !== null && <p>{description}</p>}
            <dl>
              <div>
                <dt>Container</dt>
                <dd>
                  <code>{container}</code> by <code>/{key.join(" /")}</code>
                </dd>
              </div>
              <div>
                <dt>Shape</dt>
                <dd>
                  {counted(fields.length, "field")}, {counted(lists.length, "list")}
                </dd>
              </div>
            </dl>
          </li>
        ))}
      </ul>
      {model.queries.length > 0 && (
        <section className="browse-section" aria-labelledby="queries-title">
          <h2 id="queries-title">Lists</h2>
          <Lists lists={model.queries} />
        </section>
      )}
      <section className="browse-section" aria-labelledby="containers-title">
        <h2 id="containers-title">Containers</h2>
        <div className="browse-scroll" tabIndex={0} role="region" aria-label="Table of containers">
          <table>
            <thead>
              <tr>
                <th scope="col">Container</th>
                <th scope="col">Partition key</th>
                <th scope="col">Holds</th>
                <th scope="col">Time to live</th>
              </tr>
            </thead>
            <tbody>
              {model.containers.map(({ name, key, holds, ttlSeconds }) => (
                <tr key={name}>
                  <th scope="row">
                    <code>{name}</code>
                  </th>
                  <td>
                    <code>/{key.join(" /")}</code>
                    {key.length > 1 && <span className="browse-tag">hierarchical</span>}
                  </td>
                  <td>{holds.join(", ")}</td>
                  <td>{ttlSeconds === null ? "none" : `${ttlSeconds} s`}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </section>
    </>
  );
}

function Lists({ lists }: { lists: Model["queries"] }) {
  return (
    <ul className="browse-lists">
      {lists.map((list) => (
        <li key={list.name}>
          <a href={addressOf({ page: "list", list: list.name, owner: null })}>{list.field}</a> of {list.itemType}
          <span className="browse-soft">{sourceInWords(list)}</span>
        </li>
      ))}
    </ul>
  );
}
