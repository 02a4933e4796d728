import { useQuery } from "urql";
import { Link, useSearchParams } from "wouter";
import { usePagePolicy } from "../api/embedded.js";
import { codeOf } from "../api/errors.js";
import { usePageTitle } from "../app/page-title.js";
import { counted } from "../ui/count.js";
import { Failure } from "../ui/Failure.js";
import { Notice } from "../ui/Notice.js";
import { SearchForm } from "../ui/SearchForm.js";
import { ProductGrid, ProductItems, SkeletonProducts } from "./ProductGrid.js";
import { SearchProductsDocument } from "./search.generated.js";
import { ShopFrame } from "./ShopFrame.js";

/** The most products that a search shows. */
const PRODUCTS_MAX = 60;

/** A search over the names of products. */
export default function SearchPage() {
  const [search, setSearch] = useSearchParams();
  const words = search.get("q")?.trim() ?? "";
  usePageTitle(words === "" ? "Search the shop" : `Search: ${words}`, "Search the names of the products.");
  return (
    <ShopFrame>
      <header className="shop-intro">
        <p className="breadcrumb">
          <Link href="/shop">All products</Link>
        </p>
        <h1>Search</h1>
      </header>
      <SearchForm
        label="Words in the name"
        words={words}
        onSearch={(typed) => {
          setSearch({ q: typed });
        }}
      />
      {words !== "" && <ProductResults key={words} words={words} />}
    </ShopFrame>
  );
}

function ProductResults({ words }: { words: string }) {
  const [{ data, error }, readAgain] = useQuery({
    query: SearchProductsDocument,
    variables: { query: words, first: PRODUCTS_MAX },
    requestPolicy: usePagePolicy(),
  });
  const products = data?.searchProducts;
  if (products == null) {
    if (codeOf(error) === "BAD_USER_INPUT") {
      return <Notice kind="shop" title="Type a word with a letter or a digit" />;
    }
    return error === undefined ? (
      <ProductGrid label="Products">
        <SkeletonProducts products={4} />
      </ProductGrid>
    ) : (
      <Failure error={error} onRetry={readAgain} />
    );
  }
  if (products.length === 0) {
    return (
      <Notice kind="shop" title="No products with these words">
        <p>Try fewer words, or the beginning of a word.</p>
        <Link className="button" href="/shop">
          Browse the shop
        </Link>
      </Notice>
    );
  }
  return (
    <>
      <p className="shop-count" role="status">
        {products.length === PRODUCTS_MAX
          ? `The first ${counted(PRODUCTS_MAX, "product")}`
          : counted(products.length, "product")}
      </p>
      <ProductGrid label="Products found">
        <ProductItems products={products} />
      </ProductGrid>
    </>
  );
}
