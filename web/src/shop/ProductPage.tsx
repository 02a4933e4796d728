import { useQuery } from "urql";
import { Link } from "wouter";
import { codeOf } from "../api/errors.js";
import { usePageTitle } from "../app/page-title.js";
import { NotFoundPage } from "../not-found/NotFoundPage.js";
import { Failure } from "../ui/Failure.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { AddToCart } from "./AddToCart.js";
import { formatMoney } from "./money.js";
import { ProductPageDocument } from "./product.generated.js";
import { ShopFrame } from "./ShopFrame.js";
import { TagLinks } from "./TagLinks.js";

/** A product, and the way into the cart. */
export default function ProductPage({ params: { id = "" } }: { params: Readonly<Record<string, string | undefined>> }) {
  return (
    <ShopFrame>
      <Product id={id} />
    </ShopFrame>
  );
}

function Product({ id }: { id: string }) {
  const [{ data, error }, readAgain] = useQuery({
    query: ProductPageDocument,
    variables: { id },
    requestPolicy: "cache-and-network",
  });
  const product = data?.product;
  usePageTitle(product?.name ?? null, product?.description);
  if (product == null) {
    // An invalid id is refused.
    if (error !== undefined && codeOf(error) !== "BAD_USER_INPUT") {
      return (
        <Failure
          error={error}
          onRetry={() => {
            readAgain({ requestPolicy: "network-only" });
          }}
        />
      );
    }
    return data === undefined && error === undefined ? <SkeletonLines lines={8} /> : <NotFoundPage what="product" />;
  }
  const { category, name, sku, price, description, tags } = product;
  return (
    <article className="product">
      <header>
        <p className="product-category">
          <Link href={`/shop/category/${category.id}`}>
            <bdi>{category.name}</bdi>
          </Link>
        </p>
        <h1 dir="auto">{name}</h1>
        <p className="product-sku">{sku}</p>
      </header>
      <p className="product-description" dir="auto">
        {description}
      </p>
      <TagLinks tags={tags} />
      <p className="price product-price">{formatMoney(price)}</p>
      <AddToCart product={product} />
    </article>
  );
}
