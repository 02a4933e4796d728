import { Provider, useQuery } from "urql";
import { Link, useSearchParams } from "wouter";
import { usePageTitle } from "../app/page-title.js";
import { counted } from "../ui/count.js";
import { Failure } from "../ui/Failure.js";
import { More } from "../ui/More.js";
import { Notice } from "../ui/Notice.js";
import { useShownPages } from "../ui/remembered.js";
import { SkeletonCards } from "../ui/Skeleton.js";
import { orderNumber, pathOfOrder } from "./checkout.js";
import { useCustomer, useCustomerClient } from "./customer-session.js";
import { OneOrder } from "./OneOrder.js";
import { OrderCard } from "./OrderCard.js";
import { OrdersDocument } from "./orders.generated.js";
import { ShopFrame } from "./ShopFrame.js";

/** Orders of one page of the list. */
const PAGE_ORDERS = 10;
/** The orders of the signed-in customer, newest first, or the one that the address of the page names. */
export default function OrdersPage() {
  const customer = useCustomer();
  const client = useCustomerClient();
  const [search] = useSearchParams();
  const orderId = search.get("order");
  usePageTitle(orderId === null ? "Orders" : `Order ${orderNumber(orderId)}`);
  return (
    <ShopFrame>
      {customer === null ? (
        <Notice heading="h1" kind="shop" title="Sign in to see your orders">
          <Link
            className="button"
            href={`/shop/signin?next=${encodeURIComponent(orderId === null ? "/shop/orders" : pathOfOrder(orderId))}`}
          >
            Sign in to the shop
          </Link>
        </Notice>
      ) : (
        <Provider value={client}>
          {orderId === null ? (
            <>
              <h1 className="shop-title">Your orders</h1>
              <OrderList customerId={customer.id} />
            </>
          ) : (
            <OneOrder id={orderId} customer={customer} />
          )}
        </Provider>
      )}
    </ShopFrame>
  );
}

function OrderList({ customerId }: { customerId: string }) {
  const [{ data, error }, readAgain] = useQuery({
    query: OrdersDocument,
    variables: { first: PAGE_ORDERS },
    requestPolicy: "cache-and-network",
  });
  const customer = data?.viewerCustomer;
  if (customer == null) {
    return error === undefined ? <SkeletonCards cards={3} /> : <Failure error={error} onRetry={readAgain} />;
  }
  return customer.salesOrders.nodes.length === 0 ? (
    <Notice kind="shop" title="You have no orders yet">
      <Link className="button" href="/shop">
        Browse the shop
      </Link>
    </Notice>
  ) : (
    <Orders customerId={customerId} count={customer.salesOrderCount} />
  );
}

function Orders({ customerId, count }: { customerId: string; count: number }) {
  const [pages, showMore] = useShownPages(`orders of ${customerId}`);
  return (
    <>
      <p className="order-count" aria-live="polite">
        {counted(count, "order")}
      </p>
      <div className="orders">
        <OrderPage pages={pages} onMore={showMore} />
      </div>
    </>
  );
}

function OrderPage({ after, pages, onMore }: { after?: string; pages: number; onMore: () => void }) {
  const [{ data, error }, readAgain] = useQuery({
    query: OrdersDocument,
    variables: { first: PAGE_ORDERS, ...(after === undefined ? {} : { after }) },
  });
  const orders = data?.viewerCustomer?.salesOrders;
  if (orders === undefined) {
    return error === undefined ? <SkeletonCards cards={2} /> : <Failure error={error} onRetry={readAgain} />;
  }
  const { nodes, pageInfo } = orders;
  return (
    <>
      {nodes.map((order) => (
        <OrderCard key={order.id} order={order} />
      ))}
      {pageInfo.hasNextPage &&
        pageInfo.endCursor !== null &&
        (pages > 1 ? (
          <OrderPage after={pageInfo.endCursor} pages={pages - 1} onMore={onMore} />
        ) : (
          <More label="Show older orders" onMore={onMore} />
        ))}
    </>
  );
}
