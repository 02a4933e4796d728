import { Client, fetchExchange } from "@urql/core";
import { expect, test } from "vitest";
import { cache } from "../api/cache.js";
import { CreateSalesOrderDocument } from "./order.generated.js";
import { CancelSalesOrderDocument, OrdersDocument } from "./orders.generated.js";
import { shopUpdates } from "./shop-cache.js";

function order(id: string, cancelDate: string | null = null) {
  const total = { __typename: "Money", amount: "1.00", currencyCode: "EUR" };
  return {
    __typename: "SalesOrder",
    id,
    orderDate: "2026-01-01T00:00:00.000Z",
    shipDate: null,
    cancelDate,
    shippingAddress: null,
    viewerCanCancel: cancelDate === null,
    lines: [],
    total,
  };
}

function customer(salesOrderCount: number) {
  return { __typename: "Customer", id: "c1", salesOrderCount };
}

const answers: Record<string, unknown> = {
  Orders: {
    viewerCustomer: {
      ...customer(1),
      salesOrders: {
        __typename: "SalesOrderConnection",
        nodes: [order("a")],
        pageInfo: { __typename: "PageInfo", hasNextPage: false, endCursor: "end" },
      },
    },
  },
  CreateSalesOrder: {
    createSalesOrder: { __typename: "CreateSalesOrderPayload", salesOrder: order("b"), customer: customer(2) },
  },
  CancelSalesOrder: {
    cancelSalesOrder: { __typename: "CancelSalesOrderPayload", salesOrder: order("a", "2026-01-02T00:00:00.000Z") },
  },
};

test("a placed order comes first in the list, a cancelled one is shown as such, and neither is asked for", async () => {
  const asked: string[] = [];
  const client = new Client({
    url: "http://server.invalid/graphql",
    preferGetMethod: false,
    exchanges: [cache(shopUpdates), fetchExchange],
    fetch: (_url, init) => {
      const name = /(?:query|mutation) (\w+)/.exec(init?.body as string)?.[1] ?? "";
      asked.push(name);
      const body = JSON.stringify({ data: answers[name] });
      return Promise.resolve(new Response(body, { headers: { "content-type": "application/json" } }));
    },
  });
  const listed = async () => {
    const { data } = await client.query(OrdersDocument, { first: 10 }).toPromise();
    const { salesOrderCount, salesOrders } = data?.viewerCustomer ?? {};
    return [salesOrderCount, salesOrders?.nodes.map(({ id, viewerCanCancel }) => [id, viewerCanCancel])];
  };
  expect(await listed()).toEqual([1, [["a", true]]]);
  await client.mutation(CreateSalesOrderDocument, { input: { lines: [] } }).toPromise();
  expect(await listed()).toEqual([
    2,
    [
      ["b", true],
      ["a", true],
    ],
  ]);
  await client.mutation(CancelSalesOrderDocument, { input: { salesOrderId: "a" } }).toPromise();
  expect(await listed()).toEqual([
    2,
    [
      ["b", true],
      ["a", false],
    ],
  ]);
  expect(asked).toEqual(["Orders", "CreateSalesOrder", "CancelSalesOrder"]);
});
