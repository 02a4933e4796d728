import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { piecesIn, useCart } from "./cart.js";
import { endCustomerSession, useCustomerSession } from "./customer-session.js";
import { useViewerIsStaff } from "./viewer-is-staff.js";
import "./shop.css";

/** The frame of every page of the shop: its places, the cart, and the customer. */
export function ShopFrame({ children }: { children: ReactNode }) {
  const pieces = piecesIn(useCart());
  const isStaff = useViewerIsStaff() === true;
  return (
    <>
      <div className="shop-bar">
        <nav aria-label="Shop">
          <Place path="/shop">Catalogue</Place>
          <Place path="/shop/cart">
            Cart {pieces > 0 && <span className="cart-count">{pieces.toLocaleString("en")}</span>}
          </Place>
          <Place path="/shop/orders">Orders</Place>
          {isStaff && <Place path="/shop/staff">Staff</Place>}
          {isStaff && <Place path="/shop/ranking">Ranking</Place>}
        </nav>
        <CustomerAccount />
      </div>
      {children}
    </>
  );
}

function Place({ path, children }: { path: string; children: ReactNode }) {
  const [pathname] = useLocation();
  return (
    <Link href={path} {...(pathname === path ? { "aria-current": "page" as const } : {})}>
      {children}
    </Link>
  );
}

function CustomerAccount() {
  const session = useCustomerSession();
  const [pathname] = useLocation();
  if (session === null || session.hasEnded) {
    const next = pathname === "/shop/signin" ? "" : `?next=${encodeURIComponent(pathname)}`;
    return (
      <p className="shop-customer">
        {session !== null && "Your session as a customer has ended. "}
        <Link className="button" href={`/shop/signin${next}`}>
          {session === null ? "Sign in as a customer" : "Sign in again"}
        </Link>
      </p>
    );
  }
  const { firstName, lastName } = session.customer;
  return (
    <p className="shop-customer">
      <Link href="/shop/account">
        <bdi>
          {firstName} {lastName}
        </bdi>
      </Link>{" "}
      <button type="button" className="quiet" onClick={endCustomerSession}>
        Sign out of the shop
      </button>
    </p>
  );
}
