import { useState } from "react";
import { Provider, useMutation } from "urql";
import { Link, useLocation } from "wouter";
import { codeOf, fieldOf, messageOf } from "../api/errors.js";
import { usePageTitle } from "../app/page-title.js";
import { Notice } from "../ui/Notice.js";
import { removeOrdered, renewKey, useCart, type Cart } from "./cart.js";
import { CartLines } from "./CartLines.js";
import { useCustomer, useCustomerClient } from "./customer-session.js";
import { formatMoney, sumOf, timesQuantity } from "./money.js";
import { CreateSalesOrderDocument } from "./order.generated.js";
import { ShopFrame } from "./ShopFrame.js";

/** The cart, and ordering its content. */
export default function CartPage() {
  usePageTitle("Cart");
  const cart = useCart();
  const client = useCustomerClient();
  // Counts refusals: the products are looked at again after each.
  const [refusals, setRefusals] = useState(0);
  return (
    <ShopFrame>
      <h1 className="shop-title">Cart</h1>
      {cart.lines.length === 0 ? (
        <Notice title="Your cart is empty">
          <Link className="button" href="/shop">
            Browse the shop
          </Link>
        </Notice>
      ) : (
        <>
          <CartLines key={refusals} cart={cart} />
          <Provider value={client}>
            <PlaceOrder
              cart={cart}
              onRefused={() => {
                setRefusals(refusals + 1);
              }}
            />
          </Provider>
        </>
      )}
    </ShopFrame>
  );
}

/** The total and the button that orders. The key of the cart makes a repeat of the same order harmless. */
function PlaceOrder({ cart, onRefused }: { cart: Cart; onRefused: () => void }) {
  const { lines, idempotencyKey } = cart;
  const customer = useCustomer();
  const [{ fetching, error }, createSalesOrder] = useMutation(CreateSalesOrderDocument);
  const [, navigate] = useLocation();
  const sold = lines.filter(({ isGone }) => !isGone);
  const total = sumOf(sold.map(({ product, quantity }) => timesQuantity(product.price, quantity)));
  const obstacle = obstacleOf(cart, total !== null);

  const order = async (): Promise<void> => {
    const ordered = lines.map(({ product, quantity }) => ({ productId: product.id, quantity }));
    const answer = await createSalesOrder({ input: { lines: ordered, idempotencyKey } });
    const placed = answer.data?.createSalesOrder?.salesOrder;
    if (placed !== undefined) {
      removeOrdered(idempotencyKey);
      navigate("/shop/orders", { state: { placed: placed.id } });
    } else if (fieldOf(answer.error) === "idempotencyKey") {
      renewKey(idempotencyKey);
    } else if (fieldOf(answer.error) === "lines") {
      onRefused();
    }
  };

  return (
    <section className="place-order" aria-label="Order">
      {total !== null && (
        <p className="order-total">
          Total <span className="price">{formatMoney(total)}</span>
        </p>
      )}
      {obstacle !== null && <p className="field-error">{obstacle}</p>}
      {error !== undefined && codeOf(error) !== "UNAUTHENTICATED" && (
        <p role="alert" className="field-error">
          {error.networkError === undefined
            ? messageOf(error)
            : "We could not confirm your order. Try again; it will not be placed twice."}
        </p>
      )}
      {customer === null ? (
        <p>
          <Link className="button" href="/shop/signin?next=%2Fshop%2Fcart">
            Sign in to order
          </Link>
        </p>
      ) : (
        <button
          type="button"
          className="button"
          disabled={obstacle !== null}
          aria-disabled={fetching}
          onClick={() => {
            if (!fetching) {
              void order();
            }
          }}
        >
          {fetching ? "Placing your order…" : "Place order"}
        </button>
      )}
      <p className="place-order-note">Prices are confirmed when you place the order.</p>
    </section>
  );
}

/** Why these lines cannot be ordered; null where they can. */
function obstacleOf({ lines }: Cart, hasTotal: boolean): string | null {
  if (lines.some(({ isGone }) => isGone)) {
    return "Remove the products that are no longer available.";
  }
  return hasTotal ? null : "All products of an order must have the same currency.";
}
