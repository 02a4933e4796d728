import { useQuery } from "urql";
import { Link } from "wouter";
import { usePagePolicy } from "../api/embedded.js";
import { usePageTitle } from "../app/page-title.js";
import { Failure } from "../ui/Failure.js";
import { Notice } from "../ui/Notice.js";
import { TagLinks } from "../ui/TagLinks.js";
import { ProductPicture } from "./ProductPicture.js";
import { CatalogueDocument, type CatalogueQuery } from "./catalogue.generated.js";
import { Featured, FeaturedSkeleton } from "./Featured.js";
import { ShopFrame } from "./ShopFrame.js";
import { productTagLinks } from "./product-tags.js";

type Category = NonNullable<CatalogueQuery["productCategories"]>[number];

/** The shop's catalogue: products of today, its categories and its tags. */
export default function ShopPage() {
  usePageTitle("Shop", "Browse the shop by category and by tag.");
  return (
    <ShopFrame>
      <header className="shop-intro">
        <h1>Shop</h1>
      </header>
      <Catalogue />
    </ShopFrame>
  );
}

function Catalogue() {
  const [{ data, error }, readAgain] = useQuery({ query: CatalogueDocument, requestPolicy: usePagePolicy() });
  const { productCategories: categories, productTags: tags } = data ?? {};
  if (categories == null || tags == null) {
    return error === undefined ? <FeaturedSkeleton /> : <Failure error={error} onRetry={readAgain} />;
  }
  if (categories.length + tags.length === 0) {
    return (
      <Notice kind="shop" title="The shop has no products yet">
        <p>Please come back later.</p>
      </Notice>
    );
  }
  return (
    <div className="catalogue">
      {categories.length > 0 && <Featured categories={categories} />}
      {categories.length > 0 && <Categories categories={categories} />}
      {tags.length > 0 && (
        <section>
          <h2>Browse by tag</h2>
          <TagLinks tags={productTagLinks(tags)} />
        </section>
      )}
    </div>
  );
}

function Categories({ categories }: { categories: readonly Category[] }) {
  return (
    <section>
      <h2>Browse by category</h2>
      <ul className="category-links">
        {categories.map(({ id, name }) => (
          <li key={id}>
            <Link href={`/shop/category/${id}`}>
              <ProductPicture name={name} />
              <bdi>{name}</bdi>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
