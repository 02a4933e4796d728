/**
 * The access token of the playground's requests. It is in the memory of the page alone, and gone when that is
 * left.
 */
import { renewSession } from "../api/renewal.js";
import { storedProfile } from "../api/stored-session.js";
import { users } from "../api/user-kind.js";

/** Where older versions of the playground stored it. */
const FORMER_STORAGE_KEY = "onehop:accessToken";

let current: string | null = null;

export function readAccessToken(): string | null {
  return current;
}

/**
 * Starts with an access token of the user who is signed in on the blog's pages. Never fails: without one,
 * requests are anonymous.
 */
export async function takeOverSession(): Promise<void> {
  sessionStorage.removeItem(FORMER_STORAGE_KEY);
  if (storedProfile(users) !== null) {
    const renewal = await renewSession(users.endpoint).catch(() => null);
    current = renewal?.accessToken ?? null;
  }
}

/** Keeps a token; an empty one is forgotten. A pasted `Bearer ` in front and JSON's quotes are taken off. */
export function keepAccessToken(text: string): string | null {
  const accessToken = text
    .trim()
    .replace(/^bearer\s+/i, "")
    .replace(/^"(.*)"$/, "$1");
  current = accessToken === "" ? null : accessToken;
  return current;
}

/** The token that signing up or signing in has just answered, if this is such a response's `data`. */
export function issuedAccessToken(data: unknown): string | null {
  if (!isObject(data)) {
    return null;
  }
  for (const payload of Object.values(data)) {
    if (isObject(payload) && typeof payload.accessToken === "string") {
      return payload.accessToken;
    }
  }
  return null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
