import { useSyncExternalStore } from "react";

/** The fragment of the page's address, without its `#`. */
export function useHash(): string {
  return useSyncExternalStore(subscribe, () => location.hash.slice(1));
}

function subscribe(listener: () => void): () => void {
  addEventListener("hashchange", listener);
  return () => {
    removeEventListener("hashchange", listener);
  };
}
