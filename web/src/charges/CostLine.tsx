import { Link, useLocation } from "wouter";
import { formatRequestCharge } from "../api/request-charge.js";
import { counted } from "../ui/count.js";
import { countOfRequests, sumOfCharges, useCharges, type Charge } from "./ledger.js";
import { OperationsTable } from "./OperationsTable.js";
import { useCostsShown } from "./shown-costs.js";
import "./cost-line.css";

/**
 * The end of each page where costs are shown: the cost of the page since it was opened. It covers nothing.
 */
export function CostLine() {
  // Renders again on each page: they differ where the visitor has not chosen.
  useLocation();
  const isShown = useCostsShown();
  return (
    isShown && (
      <aside className="cost" aria-label="Cost of this page">
        <div className="cost-inner">
          <Costs />
        </div>
      </aside>
    )
  );
}

function Costs() {
  const charges = useCharges();
  return (
    <details>
      <summary>
        <span className="cost-sum">{formatRequestCharge(sumOfCharges(charges))}</span> for this page
        <span className="cost-requests"> · {counted(countOfRequests(charges), "request")}</span>
      </summary>
      <div className="cost-operations">
        {charges.length === 0 ? (
          <p>No requests: this page came from the cache.</p>
        ) : (
          charges.map((charge, index) => <OneCharge key={index} charge={charge} />)
        )}
        <p>
          <Link href="/compare">Compare with other data models</Link>
        </p>
      </div>
    </details>
  );
}

function OneCharge({ charge: { operationName, times, requestCharge, operations } }: { charge: Charge }) {
  return (
    <section>
      <h3>
        {operationName}
        {times > 1 && `, ${times} times`} <span className="cost-sum">{formatRequestCharge(requestCharge)}</span>
      </h3>
      {operations.length > 0 ? (
        <OperationsTable operations={operations} />
      ) : (
        <p>{requestCharge > 0 ? "This server does not show its store operations." : "No store operations."}</p>
      )}
    </section>
  );
}
