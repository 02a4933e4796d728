import { Link } from "wouter";
import { formatRequestCharge } from "../api/request-charge.js";
import { counted } from "../ui/count.js";
import { lengthOfBar, loadInWords, shareInWords, shortKey } from "./load.js";
import type { OperationsQuery } from "./operations.generated.js";

type Container = OperationsQuery["partitions"][number];
type Hot = Container["hottest"][number];

/** Of containers whose keys have pages: the subject of the keys, and the path of their pages. */
const subjects: Readonly<Record<string, { name: string; path: string } | undefined>> = {
  posts: { name: "post", path: "/posts" },
  users: { name: "user", path: "/users" },
};

/** The load of the server on logical partitions. */
export function LogicalPartitions({ containers }: { containers: readonly Container[] }) {
  return (
    <section className="operations-section" aria-labelledby="partitions-title">
      <h2 id="partitions-title">Logical partitions</h2>
      <p className="operations-lead">
        Items with the same partition key share the throughput of one logical partition. Below are the operations and
        charges of each container since this process started, including projections, and its busiest keys.
      </p>
      <div className="operations-containers">
        {containers.map((container) => (
          <OfContainer key={container.container} {...container} />
        ))}
      </div>
    </section>
  );
}

function OfContainer(load: Container) {
  const { container, physicalPartitions, operations, requestCharge, chargeSource, hottest } = load;
  return (
    <article className="operations-container" aria-labelledby={`partitions-of-${container}`}>
      <h3 id={`partitions-of-${container}`}>{container}</h3>
      <p className="operations-totals">
        {counted(operations, "operation")} · {formatRequestCharge(requestCharge)}
        {chargeSource !== null && (
          <>
            {" "}
            <span className={chargeSource === "ESTIMATED" ? "source source-estimated" : "source"}>
              {chargeSource.toLowerCase()}
            </span>
          </>
        )}
        {" · "}
        {counted(physicalPartitions, "physical partition")}
      </p>
      <p className="operations-load">{loadInWords(load)}</p>
      {hottest.length > 0 && (
        <table className="shares">
          <thead className="unseen">
            <tr>
              <th scope="col">Partition key</th>
              <th scope="col">Share of the request charge</th>
            </tr>
          </thead>
          <tbody>
            {hottest.map((hot) => (
              <Row key={hot.key} hot={hot} load={load} />
            ))}
          </tbody>
        </table>
      )}
    </article>
  );
}

function Row({ hot, load: { container, requestCharge, hottest } }: { hot: Hot; load: Container }) {
  const subject = subjects[container];
  const load = `${counted(hot.operations, "operation")}, ${formatRequestCharge(hot.requestCharge)}`;
  return (
    <tr>
      <th scope="row" title={hot.key}>
        {subject === undefined || hot.id === null ? (
          <code>{shortKey(hot.key)}</code>
        ) : (
          <Link href={`${subject.path}/${hot.id}`}>
            {subject.name} <code>{shortKey(hot.key)}</code>
          </Link>
        )}
      </th>
      <td title={load}>
        <span className="shares-track" aria-hidden="true">
          <span className="shares-most" style={{ width: `${lengthOfBar(hot.requestChargeMax, hottest)}%` }} />
          <span className="shares-least" style={{ width: `${lengthOfBar(hot.requestCharge, hottest)}%` }} />
        </span>
        <span className="shares-value">{shareInWords(hot, requestCharge)}</span>
      </td>
    </tr>
  );
}
