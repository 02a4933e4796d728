import { useEffect, useEffectEvent, useRef, useSyncExternalStore } from "react";
import { useQuery, useSubscription } from "urql";
import { Link } from "wouter";
import { codeOf } from "../api/errors.js";
import { Failure } from "../ui/Failure.js";
import { Notice } from "../ui/Notice.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { When } from "../ui/When.js";
import { AddressLines } from "./AddressLines.js";
import { orderNumber } from "./checkout.js";
import type { Customer } from "./customer-session.js";
import { OrderAgain } from "./OrderAgain.js";
import { CancelOrder, OrderLines, OrderProgress } from "./OrderCard.js";
import type { OrderCardFragment } from "./OrderCard.generated.js";
import { OrderChangesDocument, OrderDocument } from "./orders.generated.js";

/** The wait before live events are asked for again, in milliseconds. */
const LISTEN_AGAIN_MS = 5_000;

/** One order, which is also the confirmation of an order that was just placed. */
export function OneOrder({ id, customer }: { id: string; customer: Customer }) {
  const [{ data, error }, readAgain] = useQuery({
    query: OrderDocument,
    variables: { id },
    requestPolicy: "cache-and-network",
  });
  const order = data?.node;
  if (order != null && "lines" in order) {
    return (
      <>
        <OrderEvents
          id={id}
          onEnded={() => {
            readAgain({ requestPolicy: "network-only" });
          }}
        />
        <Order order={order as OrderCardFragment} customer={customer} />
      </>
    );
  }
  // An invalid id is refused.
  if (error !== undefined && codeOf(error) !== "BAD_USER_INPUT") {
    return <Failure error={error} onRetry={readAgain} />;
  }
  return data === undefined && error === undefined ? (
    <SkeletonLines lines={6} />
  ) : (
    <Notice heading="h1" title="Order not found">
      <p>It may have been deleted.</p>
      <Link className="button" href="/shop/orders">
        See your orders
      </Link>
    </Notice>
  );
}

/**
 * Follows the order while the page is visible: each event stream takes one of the browser's few connections.
 * Its events end with the access token, the connection and the order, and events meanwhile are lost. The
 * order is read again then, and followed again.
 */
function OrderEvents({ id, onEnded }: { id: string; onEnded: () => void }) {
  const isVisible = useSyncExternalStore(subscribeToVisibility, () => !document.hidden);
  const wasHidden = useRef(false);
  const [{ fetching }, listen] = useSubscription({
    query: OrderChangesDocument,
    variables: { id },
    pause: !isVisible,
  });
  const readAgain = useEffectEvent(onEnded);
  const listenAgain = useEffectEvent(() => {
    onEnded();
    listen();
  });
  useEffect(() => {
    if (isVisible && wasHidden.current) {
      readAgain();
    }
    wasHidden.current = !isVisible;
  }, [isVisible]);
  useEffect(() => {
    if (fetching || !isVisible) {
      return;
    }
    const timer = setTimeout(listenAgain, LISTEN_AGAIN_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [fetching, isVisible]);
  return null;
}

function subscribeToVisibility(listener: () => void): () => void {
  document.addEventListener("visibilitychange", listener);
  return () => {
    document.removeEventListener("visibilitychange", listener);
  };
}

function Order({ order, customer }: { order: OrderCardFragment; customer: Customer }) {
  const { id, orderDate, shippingAddress, viewerCanCancel } = order;
  const title = useRef<HTMLHeadingElement>(null);
  const isPlaced = (history.state as { placed?: string } | null)?.placed === id;
  return (
    <article className="order-page">
      {isPlaced && (
        <p className="order-placed" role="status">
          Thank you, <bdi>{customer.firstName}</bdi>. Your order has been placed.
        </p>
      )}
      <header>
        <h1 ref={title} tabIndex={-1} className="shop-title">
          Order {orderNumber(id)}
        </h1>
        <p className="order-state">
          Placed <When date={orderDate} />
        </p>
      </header>
      <OrderProgress order={order} />
      <OrderLines order={order} />
      {shippingAddress !== null && (
        <section className="review-part">
          <h2>Deliver to</h2>
          <AddressLines name={`${customer.firstName} ${customer.lastName}`} address={shippingAddress} />
        </section>
      )}
      <div className="checkout-actions">
        {isPlaced ? (
          <Link className="button" href="/shop">
            Continue shopping
          </Link>
        ) : (
          <OrderAgain id={id} />
        )}
        <Link className="button button-plain" href="/shop/orders">
          All orders
        </Link>
        {viewerCanCancel && <CancelOrder id={id} onCancelled={() => title.current?.focus()} />}
      </div>
    </article>
  );
}
