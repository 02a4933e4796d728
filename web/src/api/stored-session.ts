/**
 * What all tabs of the browser know of the session, the playground's among them: who is signed in, and whether a sign-out has still to
 * reach the server. No token is stored: the session itself is in a cookie that no script can read.
 */
import type { User } from "./renewal.js";

export const SESSION_KEY = "onehop:session";
const SIGN_OUT_KEY = "onehop:sign-out";

/** The signed-in user, as this browser has stored it. Entries of older versions of the page are removed. */
export function storedUser(): User | null {
  const stored = localStorage.getItem(SESSION_KEY);
  const user = userOf(stored);
  if (stored !== null && stored !== JSON.stringify({ user })) {
    storeUser(user);
  }
  return user;
}

export function storeUser(user: User | null): void {
  if (user === null) {
    localStorage.removeItem(SESSION_KEY);
  } else {
    localStorage.setItem(SESSION_KEY, JSON.stringify({ user: { id: user.id, username: user.username } }));
  }
}

/** Whether a user has signed out and the request to the server failed. */
export function isSignOutPending(): boolean {
  return localStorage.getItem(SIGN_OUT_KEY) !== null;
}

export function setSignOutPending(isPending: boolean): void {
  if (isPending) {
    localStorage.setItem(SIGN_OUT_KEY, "1");
  } else {
    localStorage.removeItem(SIGN_OUT_KEY);
  }
}

function userOf(stored: string | null): User | null {
  try {
    const { user } = JSON.parse(stored ?? "null") as { user: User };
    const isUser = typeof user.id === "string" && typeof user.username === "string";
    return isUser ? { id: user.id, username: user.username } : null;
  } catch {
    return null;
  }
}
