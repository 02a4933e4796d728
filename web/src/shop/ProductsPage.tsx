import { useQuery } from "urql";
import { Link, useSearchParams } from "wouter";
import { usePagePolicy } from "../api/embedded.js";
import { codeOf } from "../api/errors.js";
import { usePageTitle } from "../app/page-title.js";
import { NotFoundPage } from "../not-found/NotFoundPage.js";
import { counted } from "../ui/count.js";
import { Failure } from "../ui/Failure.js";
import { More } from "../ui/More.js";
import { Notice } from "../ui/Notice.js";
import { useShownPages } from "../ui/remembered.js";
import { ListControls } from "./ListControls.js";
import { filterChoices, searchOf, viewed, viewOf } from "./product-view.js";
import { ProductGrid, ProductItems, SkeletonProducts } from "./ProductGrid.js";
import { PAGE_PRODUCTS, listIn, type ListedNode, type ListKind } from "./product-list.js";
import { ProductsDocument } from "./products.generated.js";
import { ShopFrame } from "./ShopFrame.js";
import { useViewerIsStaff } from "../account/viewer-is-staff.js";

/** The products of a category or of a tag. */
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
    requestPolicy: usePagePolicy(),
  });
  const isStaff = useViewerIsStaff() === true;
  const list = listIn(data, of);
  usePageTitle(list?.name ?? null, list === null ? undefined : `Products ${relation(of)} ${list.name}.`);
  if (list === null) {
    // An invalid id is refused.
    if (error !== undefined && codeOf(error) !== "BAD_USER_INPUT") {
      return <Failure error={error} onRetry={readAgain} />;
    }
    return data === undefined && error === undefined ? (
      <ProductGrid label="Products">
        <SkeletonProducts products={8} />
      </ProductGrid>
    ) : (
      <NotFoundPage what={of} />
    );
  }
  const { nodes, pageInfo } = list.products;
  return (
    <>
      <header className="shop-intro">
        <p className="breadcrumb">
          <Link href="/shop">All products</Link>
        </p>
        <h1 dir="auto">{list.name}</h1>
        {isStaff && (
          <p>
            <Link href={`/shop/staff?task=names&id=${encodeURIComponent(id)}`}>Rename</Link>
          </p>
        )}
      </header>
      {nodes.length === 0 ? (
        <Notice kind="shop" title={`No products ${relation(of)} this ${of} yet`}>
          <Link className="button" href="/shop">
            Browse the shop
          </Link>
        </Notice>
      ) : pageInfo.hasNextPage ? (
        <PagedProducts id={id} of={of} name={list.name} />
      ) : (
        <WholeList list={list} />
      )}
    </>
  );
}

/** A list that is whole on the page, with sort order and filters. */
function WholeList({ list: { name, products } }: { list: ListedNode }) {
  const [search, setSearch] = useSearchParams();
  const view = viewOf(search);
  const shown = viewed(products.nodes, view);
  return (
    <>
      <ListControls
        view={view}
        choices={filterChoices(products.nodes)}
        onView={(next) => {
          setSearch(searchOf(next), { replace: true });
        }}
      />
      <p className="shop-count" role="status">
        {counted(shown.length, "product")}
      </p>
      {shown.length === 0 ? (
        <Notice kind="shop" title="No products match this filter">
          <button
            type="button"
            className="button"
            onClick={() => {
              setSearch(searchOf({ ...view, filter: null }), { replace: true });
            }}
          >
            Show all
          </button>
        </Notice>
      ) : (
        <ProductGrid label={name}>
          <ProductItems products={shown} />
        </ProductGrid>
      )}
    </>
  );
}

/** A list that comes in pages, by name. */
function PagedProducts({ id, of, name }: { id: string; of: ListKind; name: string }) {
  const [pages, showMore] = useShownPages(`products of ${id}`);
  return (
    <ProductGrid label={name}>
      <ProductPages id={id} of={of} pages={pages} onMore={showMore} />
    </ProductGrid>
  );
}

/** One page of the list and the pages after it. */
function ProductPages({
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
      <SkeletonProducts products={4} />
    ) : (
      <li className="product-grid-whole">
        <Failure error={error} onRetry={readAgain} />
      </li>
    );
  }
  const { nodes, pageInfo } = list.products;
  return (
    <>
      <ProductItems products={nodes} />
      {pageInfo.hasNextPage &&
        pageInfo.endCursor !== null &&
        (pages > 1 ? (
          <ProductPages id={id} of={of} after={pageInfo.endCursor} pages={pages - 1} onMore={onMore} />
        ) : (
          <li className="product-grid-whole">
            <More label="Show more products" onMore={onMore} />
          </li>
        ))}
    </>
  );
}

function relation(of: ListKind): string {
  return of === "category" ? "in" : "with";
}
