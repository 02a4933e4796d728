import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { SessionEnded } from "../account/SignInAgain.js";
import { useIsOffline } from "../api/connection.js";
import { endSession, useSession } from "../api/session.js";
import { CostLine } from "../charges/CostLine.js";
import { preloadRoute } from "./routes.js";

const places = [
  { path: "/", name: "Feed" },
  { path: "/shop", name: "Shop" },
  { path: "/compare", name: "Compare" },
  { path: "/operations", name: "Operations" },
];

/** The frame of every page. */
export function Layout({ children }: { children: ReactNode }) {
  const isOffline = useIsOffline();
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
              <Place key={path} path={path} name={name} />
            ))}
            <a href="/graphiql">Playground</a>
          </nav>
          <Account />
        </div>
      </header>
      <div className="offline" role="status">
        {isOffline && <p>No connection. This page updates when you are back online.</p>}
      </div>
      <SessionEnded />
      <main id="page" className="page" tabIndex={-1}>
        {children}
      </main>
      <CostLine />
    </>
  );
}

function Place({ path, name }: { path: string; name: string }) {
  const [pathname] = useLocation();
  return (
    <Link
      href={path}
      {...(pathname === path ? { "aria-current": "page" as const } : {})}
      onPointerEnter={() => {
        preloadRoute(path);
      }}
      onFocus={() => {
        preloadRoute(path);
      }}
    >
      {name}
    </Link>
  );
}

function Account() {
  const session = useSession();
  const [pathname] = useLocation();
  if (session === null) {
    const next = pathname === "/signin" || pathname === "/" ? "" : `?next=${encodeURIComponent(pathname)}`;
    // The shop has accounts of its own: there the sign-in of customers stands out.
    const isInShop = pathname === "/shop" || pathname.startsWith("/shop/");
    return (
      <div className="account">
        <Link className={isInShop ? "quiet" : "button"} href={`/signin${next}`}>
          {isInShop ? "Sign in to the blog" : "Sign in"}
        </Link>
      </div>
    );
  }
  const { id, username } = session.user;
  return (
    <div className="account">
      <Link className="button" href="/write">
        Write
      </Link>
      <Link className="account-name" href={`/users/${id}`}>
        <bdi>{username}</bdi>
      </Link>
      <button type="button" className="quiet" onClick={endSession}>
        Sign out
      </button>
    </div>
  );
}
