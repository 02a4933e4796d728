import { useId } from "react";
import { useMutation } from "urql";
import { Link } from "wouter";

import { Confirm } from "../ui/Confirm.js";
import { FormError } from "../ui/FormError.js";
import { ProductPicture } from "./ProductPicture.js";
import { When } from "../ui/When.js";
import { orderNumber, pathOfOrder } from "./checkout.js";
import { OrderAgain } from "./OrderAgain.js";
import { formatMoney } from "./money.js";
import type { OrderCardFragment } from "./OrderCard.generated.js";
import { DeleteSalesOrderDocument } from "./orders.generated.js";

/**
 * An order with its lines, at the names and prices of when it was placed. It can be cancelled until it is
 * shipped.
 */
export function OrderCard({ order, onDeleted }: { order: OrderCardFragment; onDeleted: () => void }) {
  const { id, orderDate, viewerCanDelete } = order;
  const titleId = useId();
  return (
    <article className="order" aria-labelledby={titleId}>
      <header>
        <h2 id={titleId}>
          <Link href={pathOfOrder(id)}>Order {orderNumber(id)}</Link>
        </h2>
        <p className="order-state">
          Placed <When date={orderDate} />
        </p>
      </header>
      <OrderProgress order={order} />
      <OrderLines order={order} />
      <div className="order-actions">
        <OrderAgain id={id} className="button button-plain" />
        {viewerCanDelete && <CancelOrder id={id} onDeleted={onDeleted} />}
      </div>
    </article>
  );
}

/** The status of an order: its steps until now, and the next. */
export function OrderProgress({ order: { shipDate } }: { order: OrderCardFragment }) {
  return (
    <ol className="order-progress" aria-label="Status">
      <li className="is-done">Placed</li>
      <li className={shipDate === null ? "" : "is-done"}>
        {shipDate === null ? (
          "Not shipped yet"
        ) : (
          <>
            Shipped <When date={shipDate} />
          </>
        )}
      </li>
    </ol>
  );
}

export function OrderLines({ order: { lines, total } }: { order: OrderCardFragment }) {
  return (
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
              <ProductPicture name={line.name} className="line-picture" />
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
  );
}

export function CancelOrder({ id, onDeleted }: { id: string; onDeleted: () => void }) {
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
      <FormError error={error} />
    </>
  );
}
