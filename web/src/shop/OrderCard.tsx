import { useId } from "react";
import { useMutation } from "urql";
import { messageOf } from "../api/errors.js";
import { Confirm } from "../ui/Confirm.js";
import { When } from "../ui/When.js";
import { formatMoney } from "./money.js";
import type { OrderCardFragment } from "./OrderCard.generated.js";
import { DeleteSalesOrderDocument } from "./orders.generated.js";

/**
 * An order with its lines, at the names and prices of when it was placed. It can be deleted until it is
 * shipped.
 */
export function OrderCard({ order, onDeleted }: { order: OrderCardFragment; onDeleted: () => void }) {
  const { id, orderDate, shipDate, viewerCanDelete, lines, total } = order;
  const titleId = useId();
  return (
    <article className="order" aria-labelledby={titleId}>
      <header>
        <h2 id={titleId}>
          Ordered <When date={orderDate} />
        </h2>
        <p className="order-state">
          {shipDate === null ? (
            "Not shipped yet"
          ) : (
            <>
              Shipped <When date={shipDate} />
            </>
          )}
        </p>
      </header>
      <table className="order-lines">
        <thead className="unseen">
          <tr>
            <th scope="col">Product</th>
            <th scope="col">Quantity and price</th>
            <th scope="col">Total</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line, index) => (
            <tr key={index}>
              <th scope="row">
                <bdi>{line.name}</bdi>
              </th>
              <td>
                {line.quantity.toLocaleString("en")} × {formatMoney(line.price)}
              </td>
              <td>{formatMoney(line.total)}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Total</th>
            <td />
            <td>{formatMoney(total)}</td>
          </tr>
        </tfoot>
      </table>
      {viewerCanDelete && <DeleteOrder id={id} onDeleted={onDeleted} />}
    </article>
  );
}

function DeleteOrder({ id, onDeleted }: { id: string; onDeleted: () => void }) {
  const [{ fetching, error }, deleteSalesOrder] = useMutation(DeleteSalesOrderDocument);
  return (
    <>
      <Confirm
        label="Cancel order"
        question="Cancel this order?"
        keep="Keep order"
        className="quiet"
        isBusy={fetching}
        onConfirm={() => {
          void deleteSalesOrder({ input: { salesOrderId: id } }).then((result) => {
            if (result.error === undefined) {
              onDeleted();
            }
          });
        }}
      />
      {error !== undefined && (
        <p role="alert" className="field-error">
          {messageOf(error)}
        </p>
      )}
    </>
  );
}
