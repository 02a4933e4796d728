import { counted } from "../ui/count.js";

export interface RankedCustomer {
  firstName: string;
  lastName: string;
  salesOrderCount: number;
}

/** Customers with their orders, the highest count first. */
export function RankedCustomers({ customers }: { customers: readonly RankedCustomer[] }) {
  return customers.length === 0 ? (
    <p className="shop-none">There are no customers yet.</p>
  ) : (
    <ol>
      {customers.map(({ firstName, lastName, salesOrderCount }, index) => (
        <li key={index}>
          <bdi>
            {firstName} {lastName}
          </bdi>{" "}
          <span>{counted(salesOrderCount, "order")}</span>
        </li>
      ))}
    </ol>
  );
}
