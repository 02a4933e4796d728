/** The access token of the playground's requests. It lives as long as the browser tab and no longer. */
import { storedSession } from "../api/stored-session.js";

const STORAGE_KEY = "onehop:accessToken";

export function readAccessToken(storage: Storage = sessionStorage): string | null {
  return storage.getItem(STORAGE_KEY);
}

/** Begins with the token of whoever is signed in on the blog's pages, unless this tab has one of its own. */
export function takeOverSession(): void {
  const signedIn = storedSession()?.accessToken;
  if (readAccessToken() === null && signedIn != null) {
    storeAccessToken(signedIn);
  }
}

/** Keeps a token; an empty one is forgotten. A pasted `Bearer ` in front and JSON's quotes are taken off. */
export function storeAccessToken(text: string, storage: Storage = sessionStorage): string | null {
  const accessToken = text.trim().replace(/^bearer\s+/i, "").replace(/^"(.*)"$/, "$1");
  if (accessToken === "") {
    storage.removeItem(STORAGE_KEY);
    return null;
  }
  storage.setItem(STORAGE_KEY, accessToken);
  return accessToken;
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
