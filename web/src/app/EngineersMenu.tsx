import { useEffect, useRef } from "react";
import { Link, useLocation } from "wouter";
import { preloadRoute } from "./routes.js";

const PLACES = [
  { path: "/compare", name: "Compare" },
  { path: "/operations", name: "Operations" },
];

/** The menu of the pages for engineers. It closes on Escape, on a choice, and on a click elsewhere. */
export function EngineersMenu() {
  const menu = useRef<HTMLDetailsElement>(null);
  const [pathname] = useLocation();
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
  useEffect(() => {
    if (menu.current !== null) {
      menu.current.open = false;
    }
  }, [pathname]);
  const isHere = PLACES.some(({ path }) => path === pathname);
  return (
    <details ref={menu} className="engineers">
      <summary className={isHere ? "is-here" : ""}>For engineers</summary>
      <ul>
        {PLACES.map(({ path, name }) => {
          const preload = (): void => {
            preloadRoute(path);
          };
          return (
            <li key={path}>
              <Link
                href={path}
                {...(pathname === path ? { "aria-current": "page" as const } : {})}
                onPointerEnter={preload}
                onFocus={preload}
              >
                {name}
              </Link>
            </li>
          );
        })}
        <li>
          <a href="/graphiql">Playground</a>
        </li>
      </ul>
    </details>
  );
}
