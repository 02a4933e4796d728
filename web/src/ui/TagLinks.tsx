import { Link } from "wouter";
import "./tag-links.css";

/** Tags as links to their lists. */
export function TagLinks({ tags }: { tags: readonly { href: string; name: string }[] }) {
  return (
    tags.length > 0 && (
      <ul className="tag-links" aria-label="Tags">
        {tags.map(({ href, name }) => (
          <li key={href}>
            <Link href={href}>
              <bdi>{name}</bdi>
            </Link>
          </li>
        ))}
      </ul>
    )
  );
}
