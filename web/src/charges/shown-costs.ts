/**
 * The switch *Show costs*: whether pages show request charges and the operations behind them. The choice is
 * remembered by the browser and shared by all pages and tabs. Without a choice, pages for engineers show
 * costs and pages for readers and shoppers do not.
 */
import { useSyncExternalStore } from "react";

const STORAGE_KEY = "onehop:show-costs";
const ENGINEERS_PAGES: readonly string[] = ["/compare", "/operations", "/graphiql"];

const listeners = new Set<() => void>();
/** Null until the visitor chooses. */
let choice = storedChoice();

/** Whether the page at a path shows costs. */
export function areCostsShown(pathname: string): boolean {
  return choice ?? ENGINEERS_PAGES.includes(pathname);
}

/** Chooses for all pages. */
export function showCosts(isShown: boolean): void {
  choice = isShown;
  try {
    localStorage.setItem(STORAGE_KEY, isShown ? "yes" : "no");
  } catch {
    // A full storage forgets the choice with the page.
  }
  notifyListeners();
}

/** Calls the listener after each choice, here or in another tab; returns the end of that. */
export function onCostsChoice(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Whether this page shows costs. */
export function useCostsShown(): boolean {
  return useSyncExternalStore(onCostsChoice, () => areCostsShown(location.pathname));
}

function storedChoice(): boolean | null {
  const stored = localStorage.getItem(STORAGE_KEY);
  return stored === "yes" ? true : stored === "no" ? false : null;
}

function notifyListeners(): void {
  listeners.forEach((listener) => {
    listener();
  });
}

addEventListener("storage", ({ key }) => {
  if (key === STORAGE_KEY || key === null) {
    choice = storedChoice();
    notifyListeners();
  }
});
