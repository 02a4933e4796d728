import { useState } from "react";
import { useClient, type CombinedError } from "urql";
import { Link, useLocation } from "wouter";
import { FormError } from "../ui/FormError.js";
import { counted } from "../ui/count.js";
import { currentCart, storeCart, withAdded } from "./cart.js";
import { OrderAgainDocument, type OrderAgainQuery } from "./order-again.generated.js";
import { seenIn } from "./use-fresh-prices.js";

type Line = Extract<NonNullable<OrderAgainQuery["node"]>, { lines: unknown }>["lines"][number];

/** Puts the products of an order into the cart again, at their present prices. */
export function OrderAgain({ id, className = "button" }: { id: string; className?: string }) {
  const client = useClient();
  const [, navigate] = useLocation();
  const [isBusy, setIsBusy] = useState(false);
  const [left, setLeft] = useState<readonly string[]>([]);
  const [error, setError] = useState<CombinedError>();
  const order = async (): Promise<void> => {
    setIsBusy(true);
    const result = await client.query(OrderAgainDocument, { id }, { requestPolicy: "network-only" }).toPromise();
    setIsBusy(false);
    setError(result.error);
    const node = result.data?.node;
    if (node == null || !("lines" in node)) {
      return;
    }
    const missing = addedToCart(node.lines);
    setLeft(missing);
    if (missing.length === 0) {
      navigate("/shop/cart");
    }
  };
  return (
    <>
      <button
        type="button"
        className={className}
        aria-disabled={isBusy}
        onClick={() => {
          if (!isBusy) {
            void order();
          }
        }}
      >
        Order again
      </button>
      <FormError error={error} />
      {left.length > 0 && (
        <p role="status" className="order-again-left">
          {counted(left.length, "product")} could not be added: <bdi>{left.join(", ")}</bdi>.{" "}
          <Link href="/shop/cart">View cart</Link>
        </p>
      )}
    </>
  );
}

/** Adds the lines to the cart. Returns the names of the products that could not be added. */
function addedToCart(lines: readonly Line[]): string[] {
  return lines
    .filter(({ product, quantity }) => {
      const seen = product?.isSoldOut === true ? null : seenIn(product);
      const change = seen === null ? undefined : withAdded(currentCart(), seen, quantity);
      if (change?.cart === undefined) {
        return true;
      }
      storeCart(change.cart);
      return false;
    })
    .map(({ name }) => name);
}
