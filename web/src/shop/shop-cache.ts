/** The effects of placed and deleted orders on a customer's cache: the lists in which they are. */
import { prepend, remove, type MutationUpdates } from "../api/cache.js";
import type { CreateSalesOrderMutation } from "./order.generated.js";
import type { DeleteSalesOrderMutation } from "./orders.generated.js";

export const shopUpdates: MutationUpdates = {
  createSalesOrder(result, _args, cache) {
    const placed = (result as unknown as CreateSalesOrderMutation).createSalesOrder;
    if (placed != null) {
      const order = cache.keyOfEntity({ __typename: "SalesOrder", id: placed.salesOrder.id });
      prepend(cache, cache.keyOfEntity({ __typename: "Customer", id: placed.customer.id }), "salesOrders", order);
    }
  },
  deleteSalesOrder(result, _args, cache) {
    const deleted = (result as unknown as DeleteSalesOrderMutation).deleteSalesOrder;
    if (deleted != null) {
      const order = cache.keyOfEntity({ __typename: "SalesOrder", id: deleted.deletedSalesOrderId });
      remove(cache, cache.keyOfEntity({ __typename: "Customer", id: deleted.customer.id }), "salesOrders", order);
    }
  },
};
