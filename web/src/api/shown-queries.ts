/** Refetching after a break in the connection: the queries that components show, and sending them again. */
import { makeOperation, type Client, type Operation } from "@urql/core";

export class ShownQueries {
  readonly #operations = new Map<number, Operation>();

  /** Follows which queries have listeners. */
  note(operation: Operation): void {
    if (operation.kind === "query") {
      this.#operations.set(operation.key, operation);
    } else if (operation.kind === "teardown") {
      this.#operations.delete(operation.key);
    }
  }

  /** Sends each of them again, past the cache. */
  refetch(client: Client): void {
    for (const operation of [...this.#operations.values()]) {
      client.reexecuteOperation(
        makeOperation("query", operation, { ...operation.context, requestPolicy: "network-only" }),
      );
    }
  }
}
