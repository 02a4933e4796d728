import { useState } from "react";
import { Provider } from "urql";
import { useLocation, useSearchParams } from "wouter";
import { nextPath } from "../account/next-path.js";
import { usePageTitle } from "../app/page-title.js";
import { useCustomer, useCustomerClient } from "./customer-session.js";
import { CustomerForm } from "./CustomerForm.js";
import { ShopFrame } from "./ShopFrame.js";

/** Signs in, or up, as a customer, and goes on to where the customer was going. */
export default function CustomerPage() {
  const [isNew, setIsNew] = useState(false);
  const [search] = useSearchParams();
  const [, navigate] = useLocation();
  const customer = useCustomer();
  const client = useCustomerClient();
  const title = isNew ? "Sign up as a customer" : "Sign in as a customer";
  usePageTitle(title);
  return (
    <ShopFrame>
      <section className="customer-page">
        <h1>{title}</h1>
        <p className="shop-note">
          {customer === null ? (
            "Shop accounts are separate from blog accounts."
          ) : (
            <>
              You are signed in as{" "}
              <bdi>
                {customer.firstName} {customer.lastName}
              </bdi>
              .
            </>
          )}
        </p>
        <Provider value={client}>
          <CustomerForm
            key={String(isNew)}
            isNew={isNew}
            onDone={() => {
              navigate(nextPath(search.get("next") ?? "/shop"), { replace: true });
            }}
          />
        </Provider>
        <p>
          {isNew ? "Already a customer?" : "New here?"}{" "}
          <button
            type="button"
            className="link"
            onClick={() => {
              setIsNew(!isNew);
            }}
          >
            {isNew ? "Sign in" : "Sign up"}
          </button>
        </p>
      </section>
    </ShopFrame>
  );
}
