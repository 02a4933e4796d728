import { useQuery, useSubscription } from "urql";
import { Link } from "wouter";
import { useOnSubscriptionEnd } from "../api/connection.js";
import { usePagePolicy } from "../api/embedded.js";
import { codeOf } from "../api/errors.js";
import { usePageTitle } from "../app/page-title.js";
import { NotFoundPage } from "../not-found/NotFoundPage.js";
import { Failure } from "../ui/Failure.js";
import { ProductPicture } from "./ProductPicture.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { TagLinks } from "../ui/TagLinks.js";
import { AddToCart } from "./AddToCart.js";
import { formatMoney } from "./money.js";
import { ProductChangesDocument, ProductPageDocument, type ProductPageQuery } from "./product.generated.js";
import { RelatedProducts } from "./RelatedProducts.js";
import { ShopFrame } from "./ShopFrame.js";
import { productTagLinks } from "./product-tags.js";
import { useViewerIsStaff } from "../account/viewer-is-staff.js";

/** A product, the way into the cart, and related products. */
export default function ProductPage({ params: { id = "" } }: { params: Readonly<Record<string, string | undefined>> }) {
  return (
    <ShopFrame>
      <LoadedProduct key={id} id={id} />
    </ShopFrame>
  );
}

function LoadedProduct({ id }: { id: string }) {
  const [{ data, error }, readAgain] = useQuery({
    query: ProductPageDocument,
    variables: { id },
    requestPolicy: usePagePolicy(),
  });
  const product = data?.product;
  usePageTitle(product?.name ?? null, product?.description);
  if (product != null) {
    return (
      <Product
        product={product}
        onEnded={() => {
          readAgain({ requestPolicy: "network-only" });
        }}
      />
    );
  }
  // An invalid id is refused.
  if (error !== undefined && codeOf(error) !== "BAD_USER_INPUT") {
    return <Failure error={error} onRetry={readAgain} />;
  }
  return data === undefined && error === undefined ? <SkeletonLines lines={8} /> : <NotFoundPage what="product" />;
}

function Product({ product, onEnded }: { product: NonNullable<ProductPageQuery["product"]>; onEnded: () => void }) {
  const { id, category, name, sku, price, isSoldOut, description, tags } = product;
  const isStaff = useViewerIsStaff() === true;
  useSubscription({ query: ProductChangesDocument, variables: { id } });
  // It ends when the product is deleted.
  useOnSubscriptionEnd((variables) => {
    if ((variables as { id?: string }).id === id) {
      onEnded();
    }
  });
  return (
    <>
      <article className="product">
        <ProductPicture name={name} category={category.name} className="product-picture" />
        <div className="product-facts">
          <p className="breadcrumb product-category">
            <Link href="/shop">All products</Link>
            <span aria-hidden="true"> / </span>
            <Link href={`/shop/category/${category.id}`}>
              <bdi>{category.name}</bdi>
            </Link>
          </p>
          <h1 dir="auto">{name}</h1>
          <p className="price product-price">{formatMoney(price)}</p>
          <p className="product-description" dir="auto">
            {description}
          </p>
          {isSoldOut ? <p className="sold-out">Sold out</p> : <AddToCart product={product} />}
          <TagLinks tags={productTagLinks(tags)} />
          <p className="product-sku">
            Item no. {sku}
            {isStaff && (
              <>
                {" "}
                · <Link href={`/shop/staff?product=${encodeURIComponent(id)}`}>Edit</Link>
              </>
            )}
          </p>
        </div>
      </article>
      <RelatedProducts productId={id} category={category} tags={tags} />
    </>
  );
}
