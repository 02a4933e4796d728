/**
 * Whether a user whose session has ended has to sign in again now: a mutation was refused for it, or they
 * chose to. Reading needs no session, so an ended one alone asks for nothing.
 */
import { useSyncExternalStore } from "react";

let isNeeded = false;
const listeners = new Set<() => void>();

export function needSignIn(needed: boolean): void {
  isNeeded = needed;
  listeners.forEach((listener) => {
    listener();
  });
}

export function useSignInNeed(): boolean {
  return useSyncExternalStore(subscribe, () => isNeeded);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
