import { Link } from "wouter";

/** The end of every page. The server writes the same. */
export function SiteFooter() {
  return (
    <footer className="site-footer">
      <div className="site-footer-inner">
        <span>Onehop</span>
        <ul>
          <li>
            <Link href="/">Latest posts</Link>
          </li>
          <li>
            <Link href="/authors">Authors</Link>
          </li>
          <li>
            <Link href="/shop">All categories</Link>
          </li>
          <li>
            <a href="/feed.atom">News feed</a>
          </li>
        </ul>
      </div>
    </footer>
  );
}
