/** Whether the server is within reach, as the live connection and the browser see it. */
import { useEffect, useEffectEvent, useSyncExternalStore } from "react";

let isLost = false;
const listeners = new Set<() => void>();
const happenings = new EventTarget();

/** The live connection broke off; it is being tried again. */
export function connectionLost(): void {
  set(true);
}

/** The live connection is there. Events during a break are lost. */
export function connectionMade(wasBroken: boolean): void {
  set(false);
  if (wasBroken) {
    happenings.dispatchEvent(new Event("again"));
  }
}

export function useIsOffline(): boolean {
  return useSyncExternalStore(subscribe, () => isLost || !navigator.onLine);
}

/** The server has ended a subscription: there is nothing more to come. */
export function subscriptionEnded(variables: unknown): void {
  happenings.dispatchEvent(new CustomEvent("end", { detail: variables }));
}

/** Repeats the queries of the page: the answers are others for a session that goes on. */
export function askAgain(): void {
  happenings.dispatchEvent(new Event("again"));
}

/** Calls each time the connection is there again. */
export function onReconnect(call: () => void): void {
  happenings.addEventListener("again", call);
}

/** Calls when the connection is there again, to ask for missed events. */
export function useOnReconnect(call: () => void): void {
  useOn("again", call);
}

/** Calls when the server has ended a subscription, with the variables it had. */
export function useOnSubscriptionEnd(call: (variables: unknown) => void): void {
  useOn("end", (event) => {
    call((event as CustomEvent<unknown>).detail);
  });
}

function useOn(happening: "again" | "end", call: (event: Event) => void): void {
  const onHappening = useEffectEvent(call);
  useEffect(() => {
    const listener = (event: Event): void => {
      onHappening(event);
    };
    happenings.addEventListener(happening, listener);
    return () => {
      happenings.removeEventListener(happening, listener);
    };
  }, [happening]);
}

// A short break leaves the live connection open, but the requests during it have failed.
addEventListener("online", () => {
  happenings.dispatchEvent(new Event("again"));
});

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
