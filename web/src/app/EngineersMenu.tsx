import { useEffect, useLayoutEffect, useRef } from "react";
import { useLocation } from "wouter";
import { CostSwitch } from "../charges/CostSwitch.js";
import { NavLink } from "./NavLink.js";

const PLACES = [
  { path: "/compare", name: "Compare" },
  { path: "/operations", name: "Operations" },
];

/** The menu of the page as the server wrote it, which a reader may have opened before this code arrived. */
let servedMenu = document.querySelector<HTMLDetailsElement>("details.engineers");

/**
 * The menu of the pages for engineers, with the switch *Show costs*. It closes on Escape, on a choice, and on
 * a click elsewhere.
 */
export function EngineersMenu() {
  const menu = useRef<HTMLDetailsElement>(null);
  const [pathname] = useLocation();
  useLayoutEffect(() => {
    if (menu.current !== null && servedMenu !== null) {
      menu.current.open = servedMenu.open;
      servedMenu = null;
    }
  }, []);
  useEffect(() => {
    const close = (event: Event): void => {
      const isElsewhere = !(event.target instanceof Node && menu.current?.contains(event.target) === true);
      if (menu.current?.open === true && (event instanceof KeyboardEvent ? event.key === "Escape" : isElsewhere)) {
        menu.current.open = false;
        if (event instanceof KeyboardEvent) {
          menu.current.querySelector("summary")?.focus();
        }
      }
    };
    addEventListener("click", close);
    addEventListener("keydown", close);
    return () => {
      removeEventListener("click", close);
      removeEventListener("keydown", close);
    };
  }, []);
  // The first page closes nothing: a reader may open the menu before the effects of the first rendering run.
  const shownPathname = useRef(pathname);
  useEffect(() => {
    if (menu.current !== null && shownPathname.current !== pathname) {
      shownPathname.current = pathname;
      menu.current.open = false;
    }
  }, [pathname]);
  const isHere = PLACES.some(({ path }) => path === pathname);
  return (
    <details ref={menu} className="engineers">
      <summary className={isHere ? "is-here" : ""}>For engineers</summary>
      <ul>
        {PLACES.map(({ path, name }) => (
          <li key={path}>
            <NavLink path={path}>{name}</NavLink>
          </li>
        ))}
        <li>
          <a href="/graphiql">Playground</a>
        </li>
        <li>
          <CostSwitch />
        </li>
      </ul>
    </details>
  );
}
