import type { ReactNode } from "react";
import { NavLink } from "../app/NavLink.js";
import { piecesIn, useCart } from "./cart.js";
import { useViewerIsStaff } from "../account/viewer-is-staff.js";
import "./shop.css";
import "./products.css";
import "./checkout.css";
import "./orders.css";
import "./narrow.css";

/** The frame of every page of the shop: its places and the cart. */
export function ShopFrame({ children }: { children: ReactNode }) {
  const pieces = piecesIn(useCart());
  const isStaff = useViewerIsStaff() === true;
  return (
    <>
      <nav className={isStaff ? "shop-bar is-of-staff" : "shop-bar"} aria-label="Shop">
        <NavLink path="/shop">Catalogue</NavLink>
        <NavLink path="/shop/orders">Orders</NavLink>
        {isStaff && <NavLink path="/shop/staff">Staff</NavLink>}
        {isStaff && <NavLink path="/shop/ranking">Ranking</NavLink>}
        <NavLink path="/shop/cart">
          <CartIcon /> <span className="cart-word">Cart</span>{" "}
          {pieces > 0 && <span className="cart-count">{pieces.toLocaleString("en")}</span>}
        </NavLink>
      </nav>
      {children}
    </>
  );
}

function CartIcon() {
  return (
    <svg className="cart-icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d="M3 4h2.2l2.3 11.2h10.4L20 7H6" />
      <circle cx="9" cy="19.5" r="1.4" />
      <circle cx="16.5" cy="19.5" r="1.4" />
    </svg>
  );
}
