import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { SessionEnded } from "../account/SignInAgain.js";
import { UserAccount } from "../account/UserAccount.js";
import { useIsOffline } from "../api/connection.js";
import { CostLine } from "../charges/CostLine.js";
import { CustomerAccount } from "../shop/CustomerAccount.js";
import { EngineersMenu } from "./EngineersMenu.js";
import { NavLink } from "./NavLink.js";
import { SiteFooter } from "./SiteFooter.js";

/** Pages that use the width of the screen, beside all of the shop. */
const WIDE_PAGES = ["/compare", "/operations"];
/** The search of the shop, which the navigation has as a place of its own. */
const PRODUCT_SEARCH = "/shop/search";
/** Pages of the shop for staff, who are users of the blog. */
const STAFF_PAGES = ["/shop/staff", "/shop/ranking"];

/** The frame of every page. Blog and shop have accounts of their own: each part of the site shows one. */
export function Layout({ children }: { children: ReactNode }) {
  const isOffline = useIsOffline();
  const [pathname] = useLocation();
  const isInShop = pathname === "/shop" || pathname.startsWith("/shop/");
  const isOfCustomers = isInShop && !STAFF_PAGES.includes(pathname);
  const isWide = isInShop || WIDE_PAGES.includes(pathname);
  return (
    <>
      <a className="skip" href="#page">
        Skip to content
      </a>
      <header className="masthead">
        <div className="masthead-inner">
          <Link className="brand" href="/">
            <img src="/favicon.svg" alt="" width="26" height="26" /> Onehop
          </Link>
          <nav className="places" aria-label="Main">
            <NavLink path="/">Blog</NavLink>
            <NavLink path="/shop" hasPagesBelow={pathname !== PRODUCT_SEARCH}>
              Shop
            </NavLink>
            <NavLink path={isInShop ? PRODUCT_SEARCH : "/search"}>
              <svg className="search-icon" viewBox="0 0 24 24" aria-hidden="true">
                <path d="M15.5 15.5 21 21M17 10a7 7 0 1 1-14 0 7 7 0 0 1 14 0" />
              </svg>
              <span className="search-word">Search</span>
            </NavLink>
            <EngineersMenu />
          </nav>
          {isOfCustomers ? <CustomerAccount /> : <UserAccount />}
        </div>
      </header>
      <div className="offline" role="status">
        {isOffline && <p>No connection. This page updates when you are back online.</p>}
      </div>
      {!isOfCustomers && <SessionEnded />}
      <main id="page" className={isWide ? "page page-wide" : "page"} tabIndex={-1}>
        {children}
      </main>
      <CostLine />
      <SiteFooter />
    </>
  );
}
