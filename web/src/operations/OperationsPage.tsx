import { useEffect, useEffectEvent } from "react";
import { useQuery } from "urql";
import { usePageTitle } from "../app/page-title.js";
import { counted } from "../ui/count.js";
import { Failure } from "../ui/Failure.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { duties } from "./duties.js";
import "./operations.css";
import { Leases } from "./Leases.js";
import { LogicalPartitions } from "./LogicalPartitions.js";
import { OperationsDocument, type OperationsQuery } from "./operations.generated.js";

type Projection = OperationsQuery["projections"][number];

/** The operations API is a schema of its own, at a path of its own. */
const OPERATIONS_API = { url: "/operations/graphql" };
/** The statuses of a server that does not serve it: no such path, or a page there. */
const NOT_SERVED: readonly unknown[] = [404, 405];

/** Between two looks, in milliseconds. */
const LOOK_MS = 2_000;

/** Whether the copies keep up with writes. */
export default function OperationsPage() {
  usePageTitle(
    "Operations",
    "Whether the read models keep up with writes, and how load spreads over logical partitions.",
  );
  const [{ data, error }, look] = useQuery({
    query: OperationsDocument,
    requestPolicy: "cache-and-network",
    context: OPERATIONS_API,
  });
  const isServed = !NOT_SERVED.includes((error?.response as Response | undefined)?.status);
  useEachLook(() => {
    if (isServed) {
      look({ requestPolicy: "network-only" });
    }
  });
  return (
    <div className="operations">
      <h1>Operations</h1>
      <p className="operations-lead">
        Every write appears in the change feed. Projections follow the change feed and update the read models. This page
        refreshes every two seconds.
      </p>
      {!isServed ? (
        <p className="operations-lead">
          This server does not show its operations. Start it with <code>--operations=on</code> to show them.
        </p>
      ) : data?.projections === undefined ? (
        error === undefined ? (
          <SkeletonLines lines={8} />
        ) : (
          <Failure error={error} onRetry={look} />
        )
      ) : (
        <>
          <Summary projections={data.projections} />
          <details className="operations-details" open={hasDeadLetters(data.projections)}>
            <summary>Details of {counted(data.projections.length, "projection")}</summary>
            <Projections projections={data.projections} />
            <Leases projections={data.projections} />
          </details>
          <LogicalPartitions containers={data.partitions} />
          <Elsewhere />
        </>
      )}
    </div>
  );
}

function useEachLook(look: () => void): void {
  const lookNow = useEffectEvent(look);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) {
        lookNow();
      }
    }, LOOK_MS);
    return () => {
      clearInterval(timer);
    };
  }, []);
}

function hasDeadLetters(projections: readonly Projection[]): boolean {
  return projections.some(({ deadLetters }) => deadLetters > 0);
}

function Summary({ projections }: { projections: readonly Projection[] }) {
  const pending = projections.reduce((sum, { pendingChanges }) => sum + pendingChanges, 0);
  const deadLetters = projections.reduce((sum, projection) => sum + projection.deadLetters, 0);
  const state = deadLetters > 0 ? "bad" : pending > 0 ? "busy" : "good";
  return (
    <p className={`operations-summary is-${state}`} role="status">
      {deadLetters > 0
        ? `${counted(deadLetters, "change")} could not be projected: see the dead letters.`
        : pending > 0
          ? `${counted(pending, "change")} waiting to be projected.`
          : "Every copy is up to date."}
    </p>
  );
}

function Projections({ projections }: { projections: readonly Projection[] }) {
  return (
    <div className="operations-list operations-projections" tabIndex={0} role="region" aria-label="Projections">
      <table>
        <thead>
          <tr>
            <th scope="col">Projection</th>
            <th scope="col">Pending</th>
            <th scope="col">Lag</th>
            <th scope="col">Dead letters</th>
          </tr>
        </thead>
        <tbody>
          {projections.map(({ name, pendingChanges, lagMs, deadLetters }) => (
            <tr key={name}>
              <th scope="row">
                {name}
                {duties[name] !== undefined && <span>{duties[name]}</span>}
              </th>
              <td>{pendingChanges.toLocaleString("en")}</td>
              <td>{lagInWords(lagMs)}</td>
              <td className={deadLetters > 0 ? "is-bad" : ""}>{deadLetters.toLocaleString("en")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Data that this API does not expose, and the command that shows it. */
function Elsewhere() {
  return (
    <section className="operations-section operations-elsewhere" aria-labelledby="elsewhere-title">
      <h2 id="elsewhere-title">At the command line</h2>
      <dl>
        <dt>
          <code>onehop dead-letters list</code>
        </dt>
        <dd>
          which changes could not be projected, since when and why; <code>replay</code> tries them again
        </dd>
        <dt>
          <code>onehop verify</code>
        </dt>
        <dd>recomputes every count, copy and name from the write side</dd>
        <dt>
          <code>onehop compare</code>
        </dt>
        <dd>
          how storage and a given traffic spread over logical partitions, beside the comparison of the data models
        </dd>
      </dl>
    </section>
  );
}

function lagInWords(ms: number): string {
  return ms === 0 ? "none" : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
