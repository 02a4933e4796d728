import { useEffect, useRef, useState } from "react";
import { useQuery } from "urql";
import { Link } from "wouter";
import { Failure } from "../ui/Failure.js";
import { TextField } from "../ui/Field.js";
import { ProductPicture } from "./ProductPicture.js";
import {
  currentCart,
  UNAVAILABILITY_TEXTS,
  parseQuantity,
  QUANTITY_MAX,
  QUANTITY_RULE,
  storeCart,
  withoutProduct,
  withQuantity,
  withSeen,
  type Cart,
  type CartLine,
} from "./cart.js";
import { ProductInCartDocument } from "./cart.generated.js";
import { formatMoney, timesQuantity } from "./money.js";
import { seenIn } from "./use-fresh-prices.js";

/** The lines of the cart. Each is shown as it was last seen, and looked at again by a point read. */
export function CartLines({ cart }: { cart: Cart }) {
  const list = useRef<HTMLUListElement>(null);
  return (
    <ul ref={list} className="cart-lines" aria-label="Products in the cart" tabIndex={-1}>
      {cart.lines.map((line) => (
        <li key={line.product.id}>
          <Line
            line={line}
            onRemoved={() => {
              // The button that had the focus is gone.
              list.current?.focus();
            }}
          />
        </li>
      ))}
    </ul>
  );
}

function Line({
  line: { product, quantity, unavailability, formerPrice },
  onRemoved,
}: {
  line: CartLine;
  onRemoved: () => void;
}) {
  const { id, name, price } = product;
  const [{ data, error, stale, fetching }, readAgain] = useQuery({
    query: ProductInCartDocument,
    variables: { id },
    requestPolicy: "cache-and-network",
  });
  const isCurrent = !fetching && !stale && error === undefined;
  const seen = data?.product;
  useEffect(() => {
    if (isCurrent && seen !== undefined) {
      storeCart(withSeen(currentCart(), id, seenIn(seen), seen?.isSoldOut));
    }
  }, [isCurrent, seen, id]);
  return (
    <article className="cart-line">
      <ProductPicture name={name} />
      <h2 dir="auto">
        <Link href={`/shop/product/${id}`}>{name}</Link>
      </h2>
      {unavailability !== undefined ? (
        <p className="cart-line-gone field-error">{UNAVAILABILITY_TEXTS[unavailability]}</p>
      ) : (
        <>
          <p className="price">{formatMoney(timesQuantity(price, quantity))}</p>
          <Quantity of={name} productId={id} quantity={quantity} />
          <p className="cart-line-each">{formatMoney(price)} each</p>
          {formerPrice !== undefined && (
            <p className="price-change">The price was {formatMoney(formerPrice)} when you added it.</p>
          )}
        </>
      )}
      <button
        type="button"
        className="quiet"
        aria-label={`Remove ${name}`}
        onClick={() => {
          storeCart(withoutProduct(currentCart(), id));
          onRemoved();
        }}
      >
        Remove
      </button>
      {error !== undefined && <Failure error={error} onRetry={readAgain} />}
    </article>
  );
}

/**
 * The ordered quantity of a product. An invalid quantity is shown as such while it is typed, and changes
 * nothing.
 */
function Quantity({ of, productId, quantity }: { of: string; productId: string; quantity: number }) {
  const [typed, setTyped] = useState<string | null>(null);
  const parsed = typed === null ? quantity : parseQuantity(typed);
  const store = (): void => {
    if (parsed !== null) {
      storeCart(withQuantity(currentCart(), productId, parsed));
      setTyped(null);
    }
  };
  return (
    <form
      className="cart-quantity"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        store();
      }}
    >
      <TextField
        label={`Quantity of ${of}`}
        type="number"
        inputMode="numeric"
        min={1}
        max={QUANTITY_MAX}
        value={typed ?? String(quantity)}
        error={parsed === null ? QUANTITY_RULE : undefined}
        onBlur={() => {
          store();
          // The order has the quantities beside the total.
          setTyped(null);
        }}
        onText={setTyped}
      />
    </form>
  );
}
