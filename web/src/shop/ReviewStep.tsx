import { useState } from "react";
import { useMutation, useQuery } from "urql";
import { Link, useLocation } from "wouter";
import { codeOf, fieldOf, messageOf } from "../api/errors.js";
import { Failure } from "../ui/Failure.js";
import { Notice } from "../ui/Notice.js";
import { ProductPicture } from "./ProductPicture.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { CustomerAddressesDocument, type AddressFragment } from "./address.generated.js";
import { inputOf } from "./addresses.js";
import { AddressLines } from "./AddressLines.js";
import { UNAVAILABILITY_TEXTS, removeOrdered, renewKey, type Cart } from "./cart.js";
import { pathOfOrder, pathOfStep } from "./checkout.js";
import { formatMoney, timesQuantity } from "./money.js";
import { obstacleOf, totalOf } from "./obstacle.js";
import { CreateSalesOrderDocument } from "./order.generated.js";
import { useFreshPrices } from "./use-fresh-prices.js";

/** The third step of the checkout: all that will be ordered, and the button that orders. */
export function ReviewStep({ cart }: { cart: Cart }) {
  const [{ data, error }, readAgain] = useQuery({
    query: CustomerAddressesDocument,
    requestPolicy: "cache-and-network",
  });
  const customer = data?.viewerCustomer;
  const address = customer?.addresses[0];
  if (customer == null) {
    return error === undefined ? <SkeletonLines lines={6} /> : <Failure error={error} onRetry={readAgain} />;
  }
  if (address === undefined) {
    return (
      <Notice kind="shop" title="Where should we deliver?">
        <Link className="button" href={pathOfStep("address")}>
          Add an address
        </Link>
      </Notice>
    );
  }
  return (
    <div className="checkout-columns">
      <div>
        <section className="review-part">
          <h2>Deliver to</h2>
          <AddressLines name={`${customer.firstName} ${customer.lastName}`} address={address} />
          <Link href={pathOfStep("address")}>
            Change<span className="unseen"> the delivery address</span>
          </Link>
        </section>
        <section className="review-part">
          <h2>Products</h2>
          <ReviewLines cart={cart} />
          <Link href={pathOfStep("cart")}>
            Change<span className="unseen"> the cart</span>
          </Link>
        </section>
      </div>
      <PlaceOrder cart={cart} address={address} />
    </div>
  );
}

function ReviewLines({ cart: { lines } }: { cart: Cart }) {
  return (
    <ul className="review-lines">
      {lines.map(({ product: { id, name, price }, quantity, unavailability, formerPrice }) => (
        <li key={id}>
          <ProductPicture name={name} className="line-picture" />
          <span dir="auto">{name}</span>
          <span>
            {quantity.toLocaleString("en")} × {formatMoney(price)}
          </span>
          <span className="price">{formatMoney(timesQuantity(price, quantity))}</span>
          {unavailability !== undefined ? (
            <p className="field-error">{UNAVAILABILITY_TEXTS[unavailability]}</p>
          ) : (
            formerPrice !== undefined && <p className="price-change">The price was {formatMoney(formerPrice)}.</p>
          )}
        </li>
      ))}
    </ul>
  );
}

/**
 * The total and the button that orders. The key of the cart makes a repeat of the same order harmless. Prices
 * are read again first: the customer agrees to the prices that are ordered.
 */
function PlaceOrder({ cart, address }: { cart: Cart; address: AddressFragment }) {
  const { lines, idempotencyKey } = cart;
  const [{ fetching, error }, createSalesOrder] = useMutation(CreateSalesOrderDocument);
  const [isChecking, setIsChecking] = useState(false);
  const [hasChanged, setHasChanged] = useState(false);
  const readPrices = useFreshPrices();
  const [, navigate] = useLocation();
  const total = totalOf(cart);
  const obstacle = obstacleOf(cart);
  const isBusy = fetching || isChecking;
  // A refused line is marked, and the obstacle says what to do.
  const isShown = error !== undefined && (obstacle === null || fieldOf(error) !== "lines");

  const order = async (): Promise<void> => {
    setIsChecking(true);
    const areSame = await readPrices(cart);
    setIsChecking(false);
    setHasChanged(!areSame);
    if (!areSame) {
      return;
    }
    const ordered = lines.map(({ product, quantity }) => ({ productId: product.id, quantity }));
    const input = { lines: ordered, shippingAddress: inputOf(address), idempotencyKey };
    const answer = await createSalesOrder({ input });
    const placed = answer.data?.createSalesOrder?.salesOrder;
    if (placed !== undefined) {
      removeOrdered(idempotencyKey);
      navigate(pathOfOrder(placed.id), { replace: true, state: { placed: placed.id } });
    } else if (fieldOf(answer.error) === "idempotencyKey") {
      renewKey(idempotencyKey);
    } else if (fieldOf(answer.error) === "lines") {
      await readPrices(cart);
    }
  };

  return (
    <section className="place-order" aria-label="Order">
      {total !== null && (
        <p className="order-total">
          Total <span className="price">{formatMoney(total)}</span>
        </p>
      )}
      {obstacle !== null && (
        <p role="alert" className="field-error">
          {obstacle}
        </p>
      )}
      {hasChanged && obstacle === null && (
        <p role="alert" className="price-change">
          Prices have changed. Check the new total and place the order again.
        </p>
      )}
      {isShown && codeOf(error) !== "UNAUTHENTICATED" && (
        <p role="alert" className="field-error">
          {error.networkError === undefined
            ? messageOf(error)
            : "We could not confirm your order. Try again; it will not be placed twice."}
        </p>
      )}
      <button
        type="button"
        className="button"
        disabled={obstacle !== null}
        aria-disabled={isBusy}
        onClick={() => {
          if (!isBusy) {
            void order();
          }
        }}
      >
        {isBusy ? "Placing your order…" : "Place order"}
      </button>
    </section>
  );
}
