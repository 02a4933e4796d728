import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { preloadRoute } from "./routes.js";

/** A link of a navigation: it knows whether the page is open, and loads its code ahead. */
export function NavLink({
  path,
  hasPagesBelow = false,
  children,
}: {
  path: string;
  /** Whether pages below the path belong to this place. */
  hasPagesBelow?: boolean;
  children: ReactNode;
}) {
  const [pathname] = useLocation();
  const isHere = pathname === path;
  const isBelow = hasPagesBelow && pathname.startsWith(`${path}/`);
  const preload = (): void => {
    void preloadRoute(path);
  };
  return (
    <Link
      href={path}
      {...(isHere || isBelow ? { "aria-current": isHere ? ("page" as const) : ("true" as const) } : {})}
      onPointerEnter={preload}
      onFocus={preload}
    >
      {children}
    </Link>
  );
}
