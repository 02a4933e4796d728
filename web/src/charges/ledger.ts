/** The charges of the requests of the open page. Going to another page begins a new account. */
import { useSyncExternalStore } from "react";

/** Identical operations of one request on the store, folded into one row. */
export interface StoreOperation {
  container: string;
  kind: string;
  times: number;
  items: number;
  physicalPartitions: number;
  /** All times together, in request units. */
  requestCharge: number;
}

export interface Charge {
  operationName: string;
  /** Requests that cost nothing and follow one another are one row. */
  times: number;
  /** In request units. */
  requestCharge: number;
  operations: StoreOperation[];
}

let charges: readonly Charge[] = [];
let pathname = location.pathname;
const listeners = new Set<() => void>();

/** Enters a response into the account of the page. A response without a charge is left out. */
export function enterCharge(operationName: string, extensions: Record<string, unknown> | undefined): void {
  const { requestCharge, operations } = extensions ?? {};
  if (typeof requestCharge === "number" && Number.isFinite(requestCharge)) {
    const reported = Array.isArray(operations) ? (operations as StoreOperation[]) : [];
    const last = charges.at(-1);
    if (last?.operationName === operationName && last.requestCharge === 0 && requestCharge === 0) {
      replace([...charges.slice(0, -1), { ...last, times: last.times + 1 }]);
    } else {
      replace([...charges, { operationName, times: 1, requestCharge, operations: reported }]);
    }
  }
}

export function useCharges(): readonly Charge[] {
  return useSyncExternalStore(subscribe, currentCharges);
}

export function currentCharges(): readonly Charge[] {
  return charges;
}

export function sumOfCharges(entered: readonly Charge[]): number {
  return entered.reduce((sum, { requestCharge }) => sum + requestCharge, 0);
}

export function countOfRequests(entered: readonly Charge[]): number {
  return entered.reduce((sum, { times }) => sum + times, 0);
}

function replace(next: readonly Charge[]): void {
  charges = next;
  listeners.forEach((listener) => {
    listener();
  });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function turnThePage(): void {
  if (location.pathname !== pathname) {
    pathname = location.pathname;
    replace([]);
  }
}

// The router announces its own navigation by events named after the methods of `history`.
for (const event of ["pushState", "replaceState", "popstate"]) {
  addEventListener(event, turnThePage);
}
