/**
 * Who is signed in, in every tab of the browser. A session whose token is no longer good stays, without the token: its
 * user is asked to sign in again, and nothing that was typed is lost.
 */
import { useSyncExternalStore } from "react";

const STORAGE_KEY = "onehop:session";

export interface Session {
  user: { id: string; username: string };
  /** Null once the server has refused it. */
  accessToken: string | null;
}

const listeners = new Set<() => void>();
let session = stored();

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
    localStorage.removeItem(STORAGE_KEY);
  } else {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(next));
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

/** What is stored, unless it is something else. */
function stored(): Session | null {
  try {
    const { user, accessToken: token } = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "null") as Session;
    const isSession = typeof user.id === "string" && typeof user.username === "string";
    return isSession ? { user, accessToken: typeof token === "string" ? token : null } : null;
  } catch {
    return null;
  }
}

// Another tab signed in or out.
addEventListener("storage", ({ key }) => {
  if (key === STORAGE_KEY || key === null) {
    session = stored();
    tell();
  }
});
