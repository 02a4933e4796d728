import { counted } from "../ui/count.js";
import { holderInWords, holdingInWords, shortRange } from "./holders.js";
import type { OperationsQuery } from "./operations.generated.js";

type Projection = OperationsQuery["projections"][number];
type Lease = Projection["leases"][number];

/**
 * The owners of the parts of the change feed. The projections of a container share its leases, which are
 * shown once.
 */
export function Leases({ projections }: { projections: readonly Projection[] }) {
  const bySource = [...new Map(projections.map((projection) => [projection.source, projection])).values()];
  return (
    <section className="operations-section" aria-labelledby="leases-title">
      <h2 id="leases-title">Leases</h2>
      <p className="operations-lead">
        A container has one lease for each feed range, which is a physical partition. Its projections share them.
        Processes take over the leases of one that dies. {holdingInWords(bySource.flatMap(({ leases }) => leases))}
      </p>
      <div className="operations-list operations-leases" tabIndex={0} role="region" aria-label="Leases by feed range">
        <table>
          <thead>
            <tr>
              <th scope="col">Feed range</th>
              <th scope="col">Held by</th>
              <th scope="col">Pending</th>
              <th scope="col">Errors</th>
              <th scope="col">Changes</th>
              <th scope="col">Epoch</th>
            </tr>
          </thead>
          {bySource.map((projection) => (
            <OfContainer key={projection.source} {...projection} />
          ))}
        </table>
      </div>
    </section>
  );
}

function OfContainer({ source, leases, leaseCount }: Projection) {
  const more = leaseCount - leases.length;
  return (
    <tbody>
      <tr>
        <th scope="rowgroup" colSpan={6}>
          {source}
          {leaseCount === 0 && <span>no feed range yet</span>}
        </th>
      </tr>
      {leases.map((lease) => (
        <Row key={lease.range} lease={lease} />
      ))}
      {more > 0 && (
        <tr>
          <td className="operations-more" colSpan={6}>
            and {counted(more, "lease")} more
          </td>
        </tr>
      )}
    </tbody>
  );
}

function Row({ lease }: { lease: Lease }) {
  const { range, epoch, changes, pendingChanges, errors } = lease;
  const isFree = lease.owner === null && !lease.heldHere;
  return (
    <tr>
      <th scope="row" title={range}>
        <code>{shortRange(range)}</code>
      </th>
      <td className={isFree ? "is-bad" : ""}>{holderInWords(lease)}</td>
      <td>{pendingChanges.toLocaleString("en")}</td>
      <td className={errors > 0 ? "is-bad" : ""}>{errors.toLocaleString("en")}</td>
      <td>{changes.toLocaleString("en")}</td>
      <td>{epoch.toLocaleString("en")}</td>
    </tr>
  );
}
