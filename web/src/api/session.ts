/** The session of the signed-in user of the blog, in every tab of the browser. */
import { useSyncExternalStore } from "react";
import { AccountSession, type SessionOf } from "./account-session.js";
import { users, type User } from "./user-kind.js";

export type Session = SessionOf<"user", User>;

const session = new AccountSession(users);

export const currentSession = session.current;
export const accessToken = session.accessToken;
export const accessTokenAfter = session.accessTokenAfter;
export const signOutSettled = session.signOutSettled;
/** Signs out, in this browser at once and on the server. */
export const endSession = session.end;

export function useSession(): Session | null {
  return useSyncExternalStore(session.subscribe, session.current);
}

/** Stores the session of a user who has signed in. */
export function startSession(signedIn: { user: User; accessToken: string; expiresAt: string }): void {
  session.start(signedIn.user, signedIn.accessToken, signedIn.expiresAt);
}

/** The signed-in user has another name now. */
export function renameSession(username: string): void {
  session.change({ username });
}
