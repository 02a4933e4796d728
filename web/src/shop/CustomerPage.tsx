import { Provider } from "urql";
import { useLocation, useSearchParams } from "wouter";
import { AccountEntry } from "../account/AccountEntry.js";
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
  usePageTitle(isNew ? "Sign up" : "Sign in");
  const goOn = (): void => {
    navigate(nextPath(search.get("next") ?? "/shop"), { replace: true });
  };
  return (
    <ShopFrame>
      <AccountEntry
        isNew={isNew}
        onIsNew={setIsNew}
        signedInAs={customer === null ? null : `${customer.firstName} ${customer.lastName}`}
        onContinue={goOn}
        invitation="Already a customer?"
      >
        <p className="shop-note">Shop accounts are separate from blog accounts.</p>
        <Provider value={client}>
          <CustomerForm isNew={isNew} onDone={goOn} />
        </Provider>
      </AccountEntry>
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
