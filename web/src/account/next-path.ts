/** Where to go after signing in: a path of this server, and never another host. */
export function nextPath(next: string | null): string {
  if (next === null) {
    return "/";
  }
  const url = new URL(next, "https://onehop.invalid");
  return url.host === "onehop.invalid" && next.startsWith("/") ? url.pathname + url.search : "/";
}
