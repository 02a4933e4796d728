const SCHEMES = new Set(["http:", "https:", "mailto:"]);

/**
 * Where a link in a text may lead: the web, a mail address, or a path of this server; null for anything else.
 */
export function safeLink(href: string): string | null {
  try {
    const url = new URL(href, "https://onehop.invalid");
    return SCHEMES.has(url.protocol) ? href.trim() : null;
  } catch {
    return null;
  }
}
