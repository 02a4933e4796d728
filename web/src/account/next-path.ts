const ORIGIN = "https://onehop.invalid";

/**
 * Open-redirect protection: where to go after signing in, a path of this server and never another host. A
 * path that begins with two slashes would name a host, also when dots before it are resolved first:
 * `/.//host`.
 */
export function nextPath(next: string | null): string {
  if (next?.startsWith("/") !== true) {
    return "/";
  }
  try {
    const { origin, pathname, search } = new URL(next, ORIGIN);
    const path = pathname + search;
    return origin === ORIGIN && !/^[/\\]{2}/.test(path) ? path : "/";
  } catch {
    return "/";
  }
}
