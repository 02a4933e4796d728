/**
 * The session endpoint: renews the access token by the session cookie, which no script can read, and signs out. Knows nothing of React
 * or of any page.
 */

const SESSION_ENDPOINT = "/session";

/** With this header a sign-in puts its session into the cookie, and hands no refresh token to the page. */
export const SESSION_COOKIE_HEADER = { "onehop-session": "cookie" } as const;

export interface User {
  id: string;
  username: string;
}

export interface Renewal {
  accessToken: string;
  /** In seconds. */
  expiresIn: number;
  user: User;
}

let renewing: Promise<Renewal | null> | null = null;

/**
 * Another access token; null for an anonymous visitor. Concurrent calls share one request. Rejects when
 * the server cannot be reached or cannot say.
 */
export function renewSession(): Promise<Renewal | null> {
  renewing ??= requestRenewal().finally(() => {
    renewing = null;
  });
  return renewing;
}

async function requestRenewal(): Promise<Renewal | null> {
  const response = await fetch(SESSION_ENDPOINT, { method: "POST" });
  if (response.status === 204) {
    return null;
  }
  if (!response.ok) {
    throw new Error(`The session could not be renewed: the server answered ${String(response.status)}.`);
  }
  return (await response.json()) as Renewal;
}

/** Ends the session on the server, also when the page is left meanwhile. Rejects when that is not known to be done. */
export async function deleteSession(): Promise<void> {
  const response = await fetch(SESSION_ENDPOINT, { method: "DELETE", keepalive: true });
  if (!response.ok) {
    throw new Error(`The session could not be ended: the server answered ${String(response.status)}.`);
  }
}
