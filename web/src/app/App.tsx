import { Suspense, useEffect, useRef, useState } from "react";
import { Provider, type Client } from "urql";
import { Route, Switch, useLocation } from "wouter";
import { SignInAgain } from "../account/SignInAgain.js";
import { createClient } from "../api/client.js";
import { askAgain } from "../api/connection.js";
import { forgetEmbedded } from "../api/embedded.js";
import { useSession } from "../api/session.js";
import { NotFoundPage } from "../not-found/NotFoundPage.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { Failing } from "./Failing.js";
import { Layout } from "./Layout.js";
import { routes } from "./routes.js";

/** All pages in their frame. Each user has a cache of their own. */
export function App() {
  const session = useSession();
  const userId = session?.user.id ?? null;
  useRightsOf(session?.hasEnded === true);
  const client = useClientOf(userId);
  const [pathname] = useLocation();
  useArrival(pathname);
  return (
    <Provider value={client}>
      <Layout>
        <Failing key={pathname}>
          <Suspense fallback={<SkeletonLines lines={6} />}>
            <Switch>
              {routes.map(({ path, Page }) => (
                <Route key={path} path={path}>
                  {(params) => <Page params={params} />}
                </Route>
              ))}
              <Route>
                <NotFoundPage />
              </Route>
            </Switch>
          </Suspense>
        </Failing>
      </Layout>
      <SignInAgain />
    </Provider>
  );
}

/** The client of a user, or of an anonymous visitor. */
function useClientOf(userId: string | null): Client {
  const [current, setCurrent] = useState(() => ({ userId, client: createClient() }));
  if (current.userId === userId) {
    return current.client;
  }
  const next = { userId, client: createClient() };
  setCurrent(next);
  return next.client;
}

/**
 * Shows a user's rights once a session that had ended goes on: without it, pages were read as an anonymous
 * visitor reads them.
 */
function useRightsOf(hasEnded: boolean): void {
  const hadEnded = useRef(hasEnded);
  useEffect(() => {
    if (hadEnded.current && !hasEnded) {
      askAgain();
    }
    hadEnded.current = hasEnded;
  }, [hasEnded]);
}

/** An opened page begins at its top, and has the focus of the keyboard and the screen reader. */
function useArrival(pathname: string): void {
  const isFirst = useRef(true);
  const isBack = useRef(false);
  useEffect(() => {
    const back = (): void => {
      isBack.current = true;
    };
    addEventListener("popstate", back);
    return () => {
      removeEventListener("popstate", back);
    };
  }, []);
  useEffect(() => {
    if (isFirst.current) {
      isFirst.current = false;
      return;
    }
    forgetEmbedded();
    if (!isBack.current) {
      scrollTo(0, 0);
      document.querySelector<HTMLElement>("#page")?.focus({ preventScroll: true });
    }
    isBack.current = false;
  }, [pathname]);
}
