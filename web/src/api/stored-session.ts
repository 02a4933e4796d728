/** The session as all tabs of the browser have it, the playground's among them. */

export const SESSION_KEY = "onehop:session";

export interface Session {
  user: { id: string; username: string };
  /** Null once the server has refused it. */
  accessToken: string | null;
}

/** What is stored, unless it is something else. */
export function storedSession(): Session | null {
  try {
    const { user, accessToken } = JSON.parse(localStorage.getItem(SESSION_KEY) ?? "null") as Session;
    const isSession = typeof user.id === "string" && typeof user.username === "string";
    return isSession ? { user, accessToken: typeof accessToken === "string" ? accessToken : null } : null;
  } catch {
    return null;
  }
}
