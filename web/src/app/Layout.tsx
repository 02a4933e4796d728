import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { SessionEnded } from "../account/SignInAgain.js";
import { UserAccount } from "../account/UserAccount.js";
import { useIsOffline } from "../api/connection.js";
import { CostLine } from "../charges/CostLine.js";
import { CustomerAccount } from "../shop/CustomerAccount.js";
import { EngineersMenu } from "./EngineersMenu.js";
import { preloadRoute } from "./routes.js";

/** The parts of the site. */
const places = [
  { path: "/", name: "Blog" },
  { path: "/shop", name: "Shop" },
];

/** The frame of every page. Blog and shop have accounts of their own: each part of the site shows one. */
export function Layout({ children }: { children: ReactNode }) {
  const isOffline = useIsOffline();
  const [pathname] = useLocation();
  const isInShop = isWithin("/shop", pathname);
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
            {places.map(({ path, name }) => (
              <Place key={path} path={path} name={name} isHere={path === "/shop" ? isInShop : pathname === path} />
            ))}
            <EngineersMenu />
          </nav>
          {isInShop ? <CustomerAccount /> : <UserAccount />}
        </div>
      </header>
      <div className="offline" role="status">
        {isOffline && <p>No connection. This page updates when you are back online.</p>}
      </div>
      {!isInShop && <SessionEnded />}
      <main id="page" className="page" tabIndex={-1}>
        {children}
      </main>
      <CostLine />
    </>
  );
}

function Place({ path, name, isHere }: { path: string; name: string; isHere: boolean }) {
  const preload = (): void => {
    preloadRoute(path);
  };
  return (
    <Link
      href={path}
      {...(isHere ? { "aria-current": path === location.pathname ? ("page" as const) : ("true" as const) } : {})}
      onPointerEnter={preload}
      onFocus={preload}
    >
      {name}
    </Link>
  );
}

function isWithin(path: string, pathname: string): boolean {
  return pathname === path || pathname.startsWith(`${path}/`);
}
