import { formatRequestCharge } from "../api/request-charge.js";
import { counted } from "../ui/count.js";
import { countOfRequests, sumOfCharges, useCharges, type Charge } from "./ledger.js";
import { OperationsTable } from "./OperationsTable.js";
import "./cost-line.css";

/** What the page has cost since it was opened; opened, the operations on the store. */
export function CostLine() {
  const charges = useCharges();
  return (
    <footer className="cost">
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
        </div>
      </details>
    </footer>
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
        <p>{requestCharge > 0 ? "This server keeps its operations to itself." : "No operation on the store."}</p>
      )}
    </section>
  );
}
