/**
 * Who is signed in, in every tab of the browser. A session whose token is no longer good stays, without the token: its
 * user is asked to sign in again, and nothing that was typed is lost.
 */
import { useSyncExternalStore } from "react";
import { SESSION_KEY, storedSession, type Session } from "./stored-session.js";

const listeners = new Set<() => void>();
let session = storedSession();

export function currentSession(): Session | null {
  return session;
}

/** The token of the next request; null for an anonymous one. */
export function accessToken(): string | null {
  return session?.accessToken ?? null;
}

export function useSession(): Session | null {
  return useSyncExternalStore(subscribe, currentSession);
}

export function startSession(started: Session): void {
  replace(started);
}

export function endSession(): void {
  replace(null);
}

/** The server has refused the token. */
export function expireSession(): void {
  if (session?.accessToken != null) {
    replace({ ...session, accessToken: null });
  }
}

/** The signed-in user has another name now. */
export function renameSession(username: string): void {
  if (session !== null) {
    replace({ ...session, user: { ...session.user, username } });
  }
}

function replace(next: Session | null): void {
  session = next;
  if (next === null) {
    localStorage.removeItem(SESSION_KEY);
  } else {
    localStorage.setItem(SESSION_KEY, JSON.stringify(next));
  }
  tell();
}

function tell(): void {
  listeners.forEach((listener) => {
    listener();
  });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

// Another tab signed in or out.
addEventListener("storage", ({ key }) => {
  if (key === SESSION_KEY || key === null) {
    session = storedSession();
    tell();
  }
});
