/** The effects of a placed order on a customer's cache: the lists in which it is. */
import { prepend, type MutationUpdates } from "../api/cache.js";
import type { CreateSalesOrderMutation } from "./order.generated.js";

export const shopUpdates: MutationUpdates = {
  createSalesOrder(result, _args, cache) {
    const placed = (result as unknown as CreateSalesOrderMutation).createSalesOrder;
    if (placed != null) {
      const order = cache.keyOfEntity({ __typename: "SalesOrder", id: placed.salesOrder.id });
      prepend(cache, cache.keyOfEntity({ __typename: "Customer", id: placed.customer.id }), "salesOrders", order);
    }
  },
};
