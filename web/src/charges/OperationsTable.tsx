import { formatRequestCharge } from "../api/request-charge.js";
import type { StoreOperation } from "./ledger.js";
import "./operations-table.css";

const kinds: Record<string, string> = {
  POINT_READ: "point read",
  QUERY: "query",
  COUNT: "count",
  CREATE: "create",
  REPLACE: "replace",
  UPSERT: "upsert",
  DELETE: "delete",
  BATCH: "batch",
  CHANGE_FEED: "change feed page",
};

/** Operations on the store, identical ones folded into one row. */
export function OperationsTable({ operations }: { operations: readonly StoreOperation[] }) {
  return (
    <div className="operations-table" tabIndex={0} role="group" aria-label="Operations on the store">
      <table>
        <thead>
          <tr>
            <th scope="col">Container</th>
            <th scope="col">Operation</th>
            <th scope="col">Times</th>
            <th scope="col">Items</th>
            <th scope="col">Partitions each</th>
            <th scope="col">Charge</th>
          </tr>
        </thead>
        <tbody>
          {operations.map(({ container, kind, times, items, physicalPartitions, requestCharge }, index) => (
            <tr key={index}>
              <td>{container}</td>
              <td>{kinds[kind] ?? kind}</td>
              <td>{times}</td>
              <td>{items}</td>
              <td>{physicalPartitions}</td>
              <td>{formatRequestCharge(requestCharge)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
