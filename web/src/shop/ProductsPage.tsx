import { useQuery } from "urql";
import { Link } from "wouter";
import { codeOf } from "../api/errors.js";
import { usePageTitle } from "../app/page-title.js";
import { NotFoundPage } from "../not-found/NotFoundPage.js";
import { Failure } from "../ui/Failure.js";
import { More } from "../ui/More.js";
import { Notice } from "../ui/Notice.js";
import { useShownPages } from "../ui/remembered.js";
import { SkeletonCards } from "../ui/Skeleton.js";
import { ProductCard } from "./ProductCard.js";
import { ProductsDocument, type ProductsQuery } from "./products.generated.js";
import { ShopFrame } from "./ShopFrame.js";
import { useViewerIsStaff } from "./viewer-is-staff.js";

/** Products of one page of a list. */
const PAGE_PRODUCTS = 20;

type ListKind = "category" | "tag";
type ListedNode = Extract<NonNullable<ProductsQuery["node"]>, { name: string }>;

const TYPES: Record<ListKind, ListedNode["__typename"]> = { category: "ProductCategory", tag: "ProductTag" };

/** The products of a category or of a tag, by name. */
export function ProductsPage({ id, of }: { id: string; of: ListKind }) {
  return (
    <ShopFrame>
      <List id={id} of={of} />
    </ShopFrame>
  );
}

function List({ id, of }: { id: string; of: ListKind }) {
  const [{ data, error }, readAgain] = useQuery({
    query: ProductsDocument,
    variables: { id, first: PAGE_PRODUCTS },
    requestPolicy: "cache-and-network",
  });
  const isStaff = useViewerIsStaff() === true;
  const [pages, showMore] = useShownPages(`products of ${id}`);
  const list = listIn(data, of);
  usePageTitle(list?.name ?? null, list === null ? undefined : `Products ${relation(of)} ${list.name}.`);
  if (list === null) {
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
    return data === undefined && error === undefined ? <SkeletonCards cards={6} /> : <NotFoundPage what={of} />;
  }
  return (
    <>
      <header className="shop-intro">
        <h1 dir="auto">{list.name}</h1>
        <p>
          {of === "category" ? "Category" : "Tag"}
          {isStaff && (
            <>
              <span aria-hidden="true"> · </span>
              <Link href={`/shop/staff?id=${encodeURIComponent(id)}`}>Rename</Link>
            </>
          )}
        </p>
      </header>
      {list.products.nodes.length === 0 ? (
        <Notice title={`No products ${relation(of)} this ${of} yet`} />
      ) : (
        <div className="cards">
          <Products id={id} of={of} pages={pages} onMore={showMore} />
        </div>
      )}
    </>
  );
}

/** One page of the list and the pages after it. */
function Products({
  id,
  of,
  after,
  pages,
  onMore,
}: {
  id: string;
  of: ListKind;
  after?: string;
  pages: number;
  onMore: () => void;
}) {
  const [{ data, error }, readAgain] = useQuery({
    query: ProductsDocument,
    variables: { id, first: PAGE_PRODUCTS, ...(after === undefined ? {} : { after }) },
  });
  const list = listIn(data, of);
  if (list === null) {
    return error === undefined ? (
      <SkeletonCards cards={3} />
    ) : (
      <Failure
        error={error}
        onRetry={() => {
          readAgain({ requestPolicy: "network-only" });
        }}
      />
    );
  }
  const { nodes, pageInfo } = list.products;
  return (
    <>
      {nodes.map((product) => (
        <ProductCard key={product.id} product={product} />
      ))}
      {pageInfo.hasNextPage &&
        pageInfo.endCursor !== null &&
        (pages > 1 ? (
          <Products id={id} of={of} after={pageInfo.endCursor} pages={pages - 1} onMore={onMore} />
        ) : (
          <More label="Show more products" onMore={onMore} />
        ))}
    </>
  );
}

/** The list in an answer; null where the node is none of this kind. */
function listIn(data: ProductsQuery | undefined, of: ListKind): ListedNode | null {
  const node = data?.node;
  return node != null && "name" in node && node.__typename === TYPES[of] ? node : null;
}

function relation(of: ListKind): string {
  return of === "category" ? "in" : "with";
}
