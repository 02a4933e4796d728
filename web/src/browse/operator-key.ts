/**
 * The operator key: the part of the printed address that the server never receives as a path. It stays in
 * this tab, and leaves the address bar and the history at once.
 */

/** In the storage of the tab, which ends with it. */
const STORED = "onehop.operator-key";
const MARK = "#key=";

/** The key in a fragment such as `#key=abc`; null in any other. */
export function keyIn(fragment: string): string | null {
  const key = fragment.startsWith(MARK) ? fragment.slice(MARK.length) : "";
  return /^[\w-]+$/.test(key) ? key : null;
}

/** Takes the key out of the address, or out of the storage of the tab. */
export function takeKey(): string | null {
  const given = keyIn(location.hash);
  if (given !== null) {
    history.replaceState(null, "", location.pathname);
    keepKey(given);
    return given;
  }
  return sessionStorage.getItem(STORED);
}

/** Keeps a key for this tab. */
export function keepKey(key: string): void {
  sessionStorage.setItem(STORED, key);
}

/** Forgets the key. */
export function forgetKey(): void {
  sessionStorage.removeItem(STORED);
}
