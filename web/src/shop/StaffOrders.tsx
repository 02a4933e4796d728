import { useMutation, useQuery } from "urql";
import { Link, useSearchParams } from "wouter";
import { codeOf } from "../api/errors.js";
import { counted } from "../ui/count.js";
import { Failure } from "../ui/Failure.js";
import { FormError } from "../ui/FormError.js";
import { Notice } from "../ui/Notice.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { When } from "../ui/When.js";
import { AddressLines } from "./AddressLines.js";
import { orderNumber } from "./checkout.js";
import { OrderLines, OrderProgress } from "./OrderCard.js";
import {
  CustomerOrdersDocument,
  CustomersDocument,
  ShipOrderDocument,
  type CustomerOrdersQuery,
} from "./staff-orders.generated.js";

/** Customers that are listed: as many as the ranking keeps. */
const CUSTOMERS = 100;
/** Orders of a customer that are listed. */
const ORDERS = 20;

type Customer = NonNullable<CustomerOrdersQuery["customer"]>;
type Order = Customer["salesOrders"]["nodes"][number];

/** The orders of a customer, each to be shipped; before that, the customers. */
export function StaffOrders() {
  const [search] = useSearchParams();
  const id = search.get("customer");
  return id === null ? <Customers /> : <CustomerOrders key={id} id={id} />;
}

function Customers() {
  const [{ data, error }, readAgain] = useQuery({
    query: CustomersDocument,
    variables: { first: CUSTOMERS },
    requestPolicy: "cache-and-network",
  });
  const customers = data?.topCustomers?.nodes.filter(({ salesOrderCount }) => salesOrderCount > 0);
  if (customers === undefined) {
    return error === undefined ? <SkeletonLines lines={6} /> : <Failure error={error} onRetry={readAgain} />;
  }
  return (
    <>
      <header className="shop-intro">
        <h1>Ship orders</h1>
      </header>
      {customers.length === 0 ? (
        <Notice kind="shop" title="There are no orders yet" />
      ) : (
        <ul className="staff-customers">
          {customers.map(({ id, firstName, lastName, salesOrderCount }) => (
            <li key={id}>
              <Link href={`/shop/staff?task=orders&customer=${encodeURIComponent(id)}`}>
                <bdi>
                  {firstName} {lastName}
                </bdi>
              </Link>{" "}
              <span>{counted(salesOrderCount, "order")}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function CustomerOrders({ id }: { id: string }) {
  const [{ data, error }, readAgain] = useQuery({
    query: CustomerOrdersDocument,
    variables: { id, first: ORDERS },
    requestPolicy: "cache-and-network",
  });
  const customer = data?.customer;
  if (customer == null) {
    // An invalid id is refused.
    if (error !== undefined && codeOf(error) !== "BAD_USER_INPUT") {
      return <Failure error={error} onRetry={readAgain} />;
    }
    return data === undefined && error === undefined ? (
      <SkeletonLines lines={6} />
    ) : (
      <Notice heading="h1" title="Customer not found" />
    );
  }
  const { firstName, lastName, salesOrders } = customer;
  const name = `${firstName} ${lastName}`;
  return (
    <>
      <header className="shop-intro">
        <p className="breadcrumb">
          <Link href="/shop/staff?task=orders">All customers</Link>
        </p>
        <h1>
          Orders of <bdi>{name}</bdi>
        </h1>
      </header>
      {salesOrders.nodes.length === 0 ? (
        <Notice kind="shop" title="This customer has no orders" />
      ) : (
        salesOrders.nodes.map((order) => <ShippedOrder key={order.id} name={name} order={order} />)
      )}
    </>
  );
}

function ShippedOrder({ name, order }: { name: string; order: Order }) {
  const [{ fetching, error }, shipOrder] = useMutation(ShipOrderDocument);
  const { id, orderDate, shippingAddress, viewerCanShip } = order;
  return (
    <article className="order" aria-label={`Order ${orderNumber(id)}`}>
      <header>
        <h2>Order {orderNumber(id)}</h2>
        <p className="order-state">
          Placed <When date={orderDate} />
        </p>
      </header>
      <OrderProgress order={order} />
      <OrderLines order={order} />
      {shippingAddress !== null && (
        <div className="staff-address">
          <AddressLines name={name} address={shippingAddress} />
        </div>
      )}
      {viewerCanShip && (
        <button
          type="button"
          className="button"
          disabled={fetching}
          onClick={() => {
            void shipOrder({ input: { salesOrderId: id } });
          }}
        >
          {fetching ? "One moment…" : "Mark as shipped"}
        </button>
      )}
      <FormError error={error} />
    </article>
  );
}
