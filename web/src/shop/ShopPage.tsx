import { useQuery } from "urql";
import { Link } from "wouter";
import { usePageTitle } from "../app/page-title.js";
import { Failure } from "../ui/Failure.js";
import { Notice } from "../ui/Notice.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { CatalogueDocument } from "./catalogue.generated.js";
import { ShopFrame } from "./ShopFrame.js";

/** The shop's catalogue: its categories and its tags. */
export default function ShopPage() {
  usePageTitle("Shop", "Browse the shop by category and by tag.");
  return (
    <ShopFrame>
      <header className="shop-intro">
        <h1>Shop</h1>
      </header>
      <Lists />
    </ShopFrame>
  );
}

function Lists() {
  const [{ data, error }, readAgain] = useQuery({ query: CatalogueDocument, requestPolicy: "cache-and-network" });
  const { productCategories: categories, productTags: tags } = data ?? {};
  if (categories == null || tags == null) {
    return error === undefined ? (
      <SkeletonLines lines={10} />
    ) : (
      <Failure
        error={error}
        onRetry={() => {
          readAgain({ requestPolicy: "network-only" });
        }}
      />
    );
  }
  if (categories.length + tags.length === 0) {
    return (
      <Notice title="The shop has no products yet">
        <p>Please come back later.</p>
      </Notice>
    );
  }
  return (
    <div className="catalogue">
      <NameList title="Browse by category" path="/shop/category" items={categories} className="category-links" />
      <NameList title="Browse by tag" path="/shop/tag" items={tags} className="tag-links" />
    </div>
  );
}

function NameList({
  title,
  path,
  items,
  className,
}: {
  title: string;
  path: string;
  items: readonly { id: string; name: string }[];
  className: string;
}) {
  return (
    <section>
      <h2>{title}</h2>
      {items.length === 0 ? (
        <p className="shop-none">None yet.</p>
      ) : (
        <ul className={className}>
          {items.map(({ id, name }) => (
            <li key={id}>
              <Link href={`${path}/${id}`}>
                <bdi>{name}</bdi>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
