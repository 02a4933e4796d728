import { Provider } from "urql";
import { useLocation, useSearchParams } from "wouter";
import { nextPath } from "../account/next-path.js";
import { usePageTitle } from "../app/page-title.js";
import { useCustomer, useCustomerClient } from "./customer-session.js";
import { CustomerForm } from "./CustomerForm.js";
import { ShopFrame } from "./ShopFrame.js";

/** Signs in, or up, as a customer, and goes on to where the customer was going. */
export default function CustomerPage() {
  const [isNew, setIsNew] = useIsNew();
  const [search] = useSearchParams();
  const [, navigate] = useLocation();
  const customer = useCustomer();
  const client = useCustomerClient();
  const title = isNew ? "Sign up" : "Sign in";
  usePageTitle(title);
  const goOn = (): void => {
    navigate(nextPath(search.get("next") ?? "/shop"), { replace: true });
  };
  return (
    <ShopFrame>
      <section className="customer-page">
        <h1>{title}</h1>
        {customer === null ? (
          <>
            <p className="shop-note">Shop accounts are separate from blog accounts.</p>
            <Provider value={client}>
              <CustomerForm isNew={isNew} onDone={goOn} />
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
          </>
        ) : (
          <>
            <p className="shop-note">
              You are signed in as{" "}
              <bdi>
                {customer.firstName} {customer.lastName}
              </bdi>
              .
            </p>
            <button type="button" className="button" onClick={goOn}>
              Continue
            </button>
          </>
        )}
      </section>
    </ShopFrame>
  );
}

/** Whether the customer signs up; the page's address keeps it over a reload. */
function useIsNew(): [boolean, (isNew: boolean) => void] {
  const [search, setSearch] = useSearchParams();
  return [
    search.has("new"),
    (isNew) => {
      setSearch(
        (current) => {
          const changed = new URLSearchParams(current);
          changed.delete("new");
          if (isNew) {
            changed.set("new", "");
          }
          return changed;
        },
        { replace: true },
      );
    },
  ];
}
