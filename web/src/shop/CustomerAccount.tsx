import { Link, useLocation } from "wouter";
import { Avatar } from "../ui/Avatar.js";
import { endCustomerSession, useCustomerSession } from "./customer-session.js";

/** The account of the shop in the masthead: the customer, or the way to sign in. */
export function CustomerAccount() {
  const session = useCustomerSession();
  const [pathname] = useLocation();
  if (session === null || session.hasEnded) {
    if (pathname === "/shop/signin") {
      return null;
    }
    const next = `${pathname}${location.search}`;
    return (
      <div className="account">
        {session !== null && <span className="account-note">Your session has ended.</span>}
        <Link className="button" href={`/shop/signin?next=${encodeURIComponent(next)}`}>
          {session === null ? "Sign in" : "Sign in again"}
        </Link>
      </div>
    );
  }
  const { id, firstName, lastName } = session.customer;
  return (
    <div className="account">
      <Link className="account-name" href="/shop/account">
        <Avatar id={id} name={firstName} />
        <bdi>
          {firstName} {lastName}
        </bdi>
      </Link>
      <button type="button" className="quiet" onClick={endCustomerSession}>
        Sign out
      </button>
    </div>
  );
}
