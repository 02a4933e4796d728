/**
 * Session endpoints: renew the access token by the session cookie, which no script can read, and sign out.
 * Each kind of account has one. Knows nothing of React or of any page.
 */

/** With this header a sign-in puts its session into the cookie, and hands no refresh token to the page. */
export const SESSION_COOKIE_HEADER = { "onehop-session": "cookie" } as const;

/** The answer to a renewal, beside the account under the name of its kind. */
export interface Renewal {
  accessToken: string;
  /** In seconds. */
  expiresIn: number;
}

/** The longest wait for the end of a session, in milliseconds: a sign-in waits for it, too. */
const SIGN_OUT_TIMEOUT_MS = 10_000;

const renewing = new Map<string, Promise<unknown>>();

/**
 * Another access token; null for an anonymous visitor. Concurrent calls share one request. Rejects when
 * the server cannot be reached or cannot say.
 */
export function renewSession<Renewed extends Renewal>(endpoint: string): Promise<Renewed | null> {
  const under = renewing.get(endpoint) as Promise<Renewed | null> | undefined;
  if (under !== undefined) {
    return under;
  }
  const renewal = requestRenewal<Renewed>(endpoint).finally(() => {
    renewing.delete(endpoint);
  });
  renewing.set(endpoint, renewal);
  return renewal;
}

async function requestRenewal<Renewed>(endpoint: string): Promise<Renewed | null> {
  const response = await fetch(endpoint, { method: "POST" });
  if (response.status === 204) {
    return null;
  }
  if (!response.ok) {
    throw new Error(`The session could not be renewed: the server answered ${String(response.status)}.`);
  }
  return (await response.json()) as Renewed;
}

/**
 * Ends the session on the server, also when the page is left meanwhile. Rejects when that is not known to be
 * done, also after ten seconds.
 */
export async function deleteSession(endpoint: string): Promise<void> {
  const response = await fetch(endpoint, {
    method: "DELETE",
    keepalive: true,
    signal: AbortSignal.timeout(SIGN_OUT_TIMEOUT_MS),
  });
  if (!response.ok) {
    throw new Error(`The session could not be ended: the server answered ${String(response.status)}.`);
  }
}
