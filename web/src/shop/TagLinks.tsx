import { Link } from "wouter";

/** The tags of a product, each a link to the products that have it. */
export function TagLinks({ tags }: { tags: readonly { id: string; name: string }[] }) {
  return (
    tags.length > 0 && (
      <ul className="tag-links" aria-label="Tags">
        {tags.map(({ id, name }) => (
          <li key={id}>
            <Link href={`/shop/tag/${id}`}>
              <bdi>{name}</bdi>
            </Link>
          </li>
        ))}
      </ul>
    )
  );
}
