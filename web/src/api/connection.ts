/** Whether the server is within reach, as the live connection and the browser see it. */
import { useEffect, useEffectEvent, useSyncExternalStore } from "react";

let isLost = false;
const listeners = new Set<() => void>();
const reconnected = new EventTarget();

/** The live connection broke off; it is being tried again. */
export function connectionLost(): void {
  set(true);
}

/** The live connection is there. After a break, what was written meanwhile was not told. */
export function connectionMade(wasBroken: boolean): void {
  set(false);
  if (wasBroken) {
    reconnected.dispatchEvent(new Event("again"));
  }
}

export function useIsOffline(): boolean {
  return useSyncExternalStore(subscribe, () => isLost || !navigator.onLine);
}

/** Calls when the connection is there again, to ask for what was missed. */
export function useOnReconnect(call: () => void): void {
  const onAgain = useEffectEvent(call);
  useEffect(() => {
    const listener = (): void => {
      onAgain();
    };
    reconnected.addEventListener("again", listener);
    return () => {
      reconnected.removeEventListener("again", listener);
    };
  }, []);
}

function set(lost: boolean): void {
  if (isLost !== lost) {
    isLost = lost;
    listeners.forEach((listener) => {
      listener();
    });
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener("online", listener);
  addEventListener("offline", listener);
  return () => {
    listeners.delete(listener);
    removeEventListener("online", listener);
    removeEventListener("offline", listener);
  };
}
