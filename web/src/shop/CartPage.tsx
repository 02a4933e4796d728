import { useEffect, useRef } from "react";
import { Provider } from "urql";
import { Link, useSearchParams } from "wouter";
import { usePageTitle } from "../app/page-title.js";
import { Notice } from "../ui/Notice.js";
import { AddressStep } from "./AddressStep.js";
import { useCart, type Cart } from "./cart.js";
import { CartLines } from "./CartLines.js";
import { pathOfStep, signInPathOf, stepOf, type Step } from "./checkout.js";
import { useCustomer, useCustomerClient } from "./customer-session.js";
import { formatMoney } from "./money.js";
import { obstacleOf, totalOf } from "./obstacle.js";
import { ReviewStep } from "./ReviewStep.js";
import { ShopFrame } from "./ShopFrame.js";
import { Steps } from "./Steps.js";

const TITLES: Record<Step, string> = { cart: "Cart", address: "Delivery address", review: "Review your order" };

/** The cart and the steps of the checkout. */
export default function CartPage() {
  const [search] = useSearchParams();
  const step = stepOf(search);
  usePageTitle(TITLES[step]);
  const cart = useCart();
  const client = useCustomerClient();
  const title = useStepFocus(step);
  return (
    <ShopFrame>
      {cart.lines.length > 0 && <Steps current={step} />}
      <h1 ref={title} tabIndex={-1} className="shop-title">
        {TITLES[step]}
      </h1>
      {cart.lines.length === 0 ? (
        <Notice kind="shop" title="Your cart is empty">
          <Link className="button" href="/shop">
            Browse the shop
          </Link>
        </Notice>
      ) : (
        <Provider value={client}>
          <CheckoutStep step={step} cart={cart} />
        </Provider>
      )}
    </ShopFrame>
  );
}

function CheckoutStep({ step, cart }: { step: Step; cart: Cart }) {
  const customer = useCustomer();
  if (step === "cart") {
    return (
      <div className="checkout-columns">
        <CartLines cart={cart} />
        <Summary cart={cart} isSignedIn={customer !== null} />
      </div>
    );
  }
  if (customer === null) {
    return (
      <Notice kind="shop" title="Sign in to check out">
        <p>Your cart is saved.</p>
        <Link className="button" href={signInPathOf(step)}>
          Sign in to the shop
        </Link>
      </Notice>
    );
  }
  return step === "address" ? <AddressStep customer={customer} /> : <ReviewStep cart={cart} />;
}

function Summary({ cart, isSignedIn }: { cart: Cart; isSignedIn: boolean }) {
  const total = totalOf(cart);
  const obstacle = obstacleOf(cart);
  return (
    <section className="place-order" aria-label="Summary">
      {total !== null && (
        <p className="order-total">
          Total <span className="price">{formatMoney(total)}</span>
        </p>
      )}
      {obstacle === null ? (
        <Link className="button" href={isSignedIn ? pathOfStep("address") : signInPathOf("address")}>
          {isSignedIn ? "Check out" : "Sign in to check out"}
        </Link>
      ) : (
        <p className="field-error">{obstacle}</p>
      )}
      <p className="place-order-note">Prices are confirmed when you place the order.</p>
    </section>
  );
}

/** Each step begins at the top of the page, with the focus on its heading. */
function useStepFocus(step: Step) {
  const title = useRef<HTMLHeadingElement>(null);
  const shown = useRef(step);
  useEffect(() => {
    if (shown.current !== step) {
      shown.current = step;
      scrollTo(0, 0);
      title.current?.focus({ preventScroll: true });
    }
  }, [step]);
  return title;
}
