import { useId, useRef } from "react";
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
import { CancelSalesOrderDocument } from "./orders.generated.js";

/**
 * An order with its lines, at the names and prices of when it was placed. It can be cancelled until it is
 * shipped.
 */
export function OrderCard({ order }: { order: OrderCardFragment }) {
  const { id, orderDate, viewerCanCancel } = order;
  const titleId = useId();
  const title = useRef<HTMLAnchorElement>(null);
  return (
    <article className="order" aria-labelledby={titleId}>
      <header>
        <h2 id={titleId}>
          <Link ref={title} href={pathOfOrder(id)}>
            Order {orderNumber(id)}
          </Link>
        </h2>
        <p className="order-state">
          Placed <When date={orderDate} />
        </p>
      </header>
      <OrderProgress order={order} />
      <OrderLines order={order} />
      <div className="order-actions">
        <OrderAgain id={id} className="button button-plain" />
        {viewerCanCancel && <CancelOrder id={id} onCancelled={() => title.current?.focus()} />}
      </div>
    </article>
  );
}

/** The status of an order: its steps until now, and the next. */
export function OrderProgress({ order: { shipDate, cancelDate } }: { order: OrderCardFragment }) {
  return (
    <ol className="order-progress" aria-label="Status">
      <li className="is-done">Placed</li>
      {cancelDate !== null ? (
        <li className="is-cancelled">
          Cancelled <When date={cancelDate} />
        </li>
      ) : shipDate !== null ? (
        <li className="is-done">
          Shipped <When date={shipDate} />
        </li>
      ) : (
        <li>Not shipped yet</li>
      )}
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

/** The button goes with the cancellation, and the focus to where `onCancelled` puts it. */
export function CancelOrder({ id, onCancelled }: { id: string; onCancelled: () => void }) {
  const [{ fetching, error }, cancelSalesOrder] = useMutation(CancelSalesOrderDocument);
  return (
    <>
      <Confirm
        label="Cancel order"
        question="Cancel this order?"
        keep="Keep order"
        className="quiet"
        isBusy={fetching}
        onConfirm={() => {
          void cancelSalesOrder({ input: { salesOrderId: id } }).then((result) => {
            if (result.error === undefined) {
              onCancelled();
            }
          });
        }}
      />
      <FormError error={error} />
    </>
  );
}
