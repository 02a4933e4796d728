/**
 * Every page with its path and its code, which is loaded when the page is opened. The server knows the same
 * paths.
 */
import { createElement, lazy, useState, type ComponentType } from "react";

export type RoutePage = ComponentType<{ params: Readonly<Record<string, string | undefined>> }>;

export interface PageRoute {
  path: string;
  Page: RoutePage;
  /** Loads the code of the page. Afterwards the page is drawn without a fallback before it. */
  preload: () => Promise<void>;
}

function route(path: string, load: () => Promise<{ default: RoutePage }>): PageRoute {
  const Lazy = lazy(load);
  let loaded: RoutePage | null = null;
  return {
    path,
    Page(props) {
      // A page that is shown stays the same component.
      const [Page] = useState(() => loaded ?? Lazy);
      return createElement(Page, props);
    },
    preload: async () => {
      try {
        loaded = (await load()).default;
      } catch {
        // A failure repeats, and is shown, when the page is opened.
      }
    },
  };
}

export const routes: readonly PageRoute[] = [
  route("/", () => import("../feed/FeedPage.js")),
  route("/posts/:id", () => import("../post/PostPage.js")),
  route("/posts/:id/edit", () => import("../write/EditPage.js")),
  route("/tags/:tag", () => import("../feed/TagPage.js")),
  route("/search", () => import("../search/SearchPage.js")),
  route("/authors", () => import("../feed/AuthorsPage.js")),
  route("/users/:id", () => import("../profile/ProfilePage.js")),
  route("/write", () => import("../write/WritePage.js")),
  route("/settings", () => import("../settings/SettingsPage.js")),
  route("/moderation", () => import("../moderation/ModerationPage.js")),
  route("/signin", () => import("../account/SignInPage.js")),
  route("/compare", () => import("../compare/ComparePage.js")),
  route("/operations", () => import("../operations/OperationsPage.js")),
  route("/shop", () => import("../shop/ShopPage.js")),
  route("/shop/category/:id", () => import("../shop/CategoryPage.js")),
  route("/shop/tag/:id", () => import("../shop/TagPage.js")),
  route("/shop/product/:id", () => import("../shop/ProductPage.js")),
  route("/shop/search", () => import("../shop/SearchPage.js")),
  route("/shop/cart", () => import("../shop/CartPage.js")),
  route("/shop/orders", () => import("../shop/OrdersPage.js")),
  route("/shop/account", () => import("../shop/AccountPage.js")),
  route("/shop/signin", () => import("../shop/CustomerPage.js")),
  route("/shop/staff", () => import("../shop/StaffPage.js")),
  route("/shop/ranking", () => import("../shop/RankingPage.js")),
];

/** Loads the code of the page at a path, without opening it. */
export async function preloadRoute(pathname: string): Promise<void> {
  await routes.find(({ path }) => matches(path, pathname))?.preload();
}

/** Whether a path is one of a pattern, where `:id` stands for one segment. */
export function matches(pattern: string, pathname: string): boolean {
  const wanted = pattern.split("/");
  const given = pathname.split("/");
  return wanted.length === given.length && wanted.every((part, index) => part.startsWith(":") || part === given[index]);
}
