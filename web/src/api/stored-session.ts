/**
 * The knowledge of a session that all tabs of the browser share: the signed-in account, and whether a
 * sign-out has still to reach the server. No token is stored: the session itself is in a cookie that no
 * script can read.
 */

/** A kind of account, and the browser's storage for its session. */
export interface AccountKind<Name extends string, Profile> {
  /** The member of renewals and of stored sessions that has the account. */
  name: Name;
  /** The session endpoint. */
  endpoint: string;
  sessionKey: string;
  signOutKey: string;
  /** The account in a stored session; null for anything else. */
  parse: (value: unknown) => Profile | null;
}

/**
 * The signed-in account, as this browser has stored it. Entries of older versions of the page are removed.
 */
export function storedProfile<Name extends string, Profile>(kind: AccountKind<Name, Profile>): Profile | null {
  const stored = localStorage.getItem(kind.sessionKey);
  const profile = profileIn(stored, kind);
  if (stored !== null && stored !== JSON.stringify({ [kind.name]: profile })) {
    storeProfile(kind, profile);
  }
  return profile;
}

export function storeProfile<Name extends string, Profile>(
  kind: AccountKind<Name, Profile>,
  profile: Profile | null,
): void {
  if (profile === null) {
    localStorage.removeItem(kind.sessionKey);
  } else {
    localStorage.setItem(kind.sessionKey, JSON.stringify({ [kind.name]: kind.parse(profile) }));
  }
}

/** Whether the account has signed out and the request to the server failed. */
export function isSignOutPending({ signOutKey }: { signOutKey: string }): boolean {
  return localStorage.getItem(signOutKey) !== null;
}

export function setSignOutPending({ signOutKey }: { signOutKey: string }, isPending: boolean): void {
  if (isPending) {
    localStorage.setItem(signOutKey, "1");
  } else {
    localStorage.removeItem(signOutKey);
  }
}

function profileIn<Name extends string, Profile>(
  stored: string | null,
  kind: AccountKind<Name, Profile>,
): Profile | null {
  try {
    const session = JSON.parse(stored ?? "null") as Record<string, unknown> | null;
    return session === null ? null : kind.parse(session[kind.name]);
  } catch {
    return null;
  }
}
