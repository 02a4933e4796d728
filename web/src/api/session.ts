/**
 * Who is signed in, in every tab of the browser. The access token is in this tab's memory alone, and renewed by the session cookie when
 * the page opens, before it expires and when the server refuses it. A session that has ended stays until its user has signed in
 * again or gone on without, so that nothing that was typed is lost.
 */
import { useSyncExternalStore } from "react";
import { deleteSession, renewSession, type User } from "./renewal.js";
import { isSignOutPending, SESSION_KEY, setSignOutPending, storedUser, storeUser } from "./stored-session.js";

/** A token is renewed so long before it expires, in milliseconds: requests take time, and clocks differ. */
const RENEWED_BEFORE_MS = 30_000;

export interface Session {
  user: User;
  /** Whether its user has to sign in again. */
  hasEnded: boolean;
}

interface Token {
  text: string;
  /** When it should be renewed, by this machine's clock (Unix ms). */
  renewAt: number;
}

const listeners = new Set<() => void>();
let session = sessionOf(storedUser());
let token: Token | null = null;

if (isSignOutPending()) {
  void signOutOnServer();
}

export function currentSession(): Session | null {
  return session;
}

export function useSession(): Session | null {
  return useSyncExternalStore(subscribe, currentSession);
}

/** The token of the next request; null for an anonymous one. Rejects when the server does not say whether there is one. */
export async function accessToken(): Promise<string | null> {
  if (session === null || session.hasEnded) {
    return null;
  }
  return token !== null && Date.now() < token.renewAt ? token.text : renewed();
}

/** Another token in place of one that the server has refused; null once the session has ended. */
export async function accessTokenAfter(refused: string): Promise<string | null> {
  if (token?.text === refused) {
    token = null;
  }
  return accessToken();
}

/** Stores the session of a user who has signed in. The expiry of the token is not known yet. */
export function startSession({ user, accessToken }: { user: User; accessToken: string }): void {
  token = { text: accessToken, renewAt: Number.POSITIVE_INFINITY };
  setSignOutPending(false);
  replace({ user, hasEnded: false });
}

/** Signs out, in this browser at once and on the server. */
export function endSession(): void {
  const wasSignedIn = session?.hasEnded === false;
  token = null;
  replace(null);
  if (wasSignedIn) {
    setSignOutPending(true);
    void signOutOnServer();
  }
}

/** The signed-in user has another name now. */
export function renameSession(username: string): void {
  if (session !== null) {
    replace({ ...session, user: { ...session.user, username } });
  }
}

async function renewed(): Promise<string | null> {
  const asked = session;
  const renewal = await renewSession();
  if (session?.user.id !== asked?.user.id) {
    // A user signed in or out meanwhile, here or in another tab.
    return token?.text ?? null;
  }
  if (renewal === null) {
    token = null;
    if (session !== null) {
      session = { ...session, hasEnded: true };
      notifyListeners();
    }
    return null;
  }
  token = { text: renewal.accessToken, renewAt: Date.now() + renewal.expiresIn * 1000 - RENEWED_BEFORE_MS };
  if (session?.user.id !== renewal.user.id || session.user.username !== renewal.user.username) {
    replace({ user: renewal.user, hasEnded: false });
  }
  return token.text;
}

/** Until the server has heard of it, the next page tries again. */
async function signOutOnServer(): Promise<void> {
  try {
    await deleteSession();
    setSignOutPending(false);
  } catch {
    addEventListener("online", () => void signOutOnServer(), { once: true });
  }
}

function replace(next: Session | null): void {
  session = next;
  storeUser(next?.user ?? null);
  notifyListeners();
}

function sessionOf(user: User | null): Session | null {
  return user === null ? null : { user, hasEnded: false };
}

function notifyListeners(): void {
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
    session = sessionOf(storedUser());
    token = null;
    notifyListeners();
  }
});
