/**
 * The session of the signed-in customer of the shop, in every tab of the browser. A customer is no user of
 * the blog.
 */
import { useSyncExternalStore } from "react";
import { type Client } from "urql";
import { AccountSession, type SessionOf } from "../api/account-session.js";
import { createClient, type Identity } from "../api/client.js";
import type { AccountKind } from "../api/stored-session.js";
import { shopUpdates } from "./shop-cache.js";

/** Where older versions of the page stored a session with its token. */
const FORMER_STORAGE_KEY = "onehop:customer";

export interface Customer {
  id: string;
  firstName: string;
  lastName: string;
}

export type CustomerSession = SessionOf<"customer", Customer>;

const customers: AccountKind<"customer", Customer> = {
  name: "customer",
  endpoint: "/session/customer",
  sessionKey: "onehop:customer-session",
  signOutKey: "onehop:customer-sign-out",
  parse: (value) => {
    const { id, firstName, lastName } = (value ?? {}) as Partial<Customer>;
    const isCustomer = [id, firstName, lastName].every((each) => typeof each === "string");
    return isCustomer ? ({ id, firstName, lastName } as Customer) : null;
  },
};

sessionStorage.removeItem(FORMER_STORAGE_KEY);
const session = new AccountSession(customers);

export const currentCustomerSession = session.current;
/** Signs out of the shop, in this browser at once and on the server. */
export const endCustomerSession = session.end;

/** Requests on behalf of the signed-in customer. */
export const customerIdentity: Identity = {
  accessToken: session.accessToken,
  accessTokenAfter: session.accessTokenAfter,
  signOutSettled: session.signOutSettled,
  signInNeeded: session.refused,
  hasPrivateEvents: true,
};

/** The session, even an ended one; null without a session. */
export function useCustomerSession(): CustomerSession | null {
  return useSyncExternalStore(session.subscribe, session.current);
}

/** The signed-in customer. */
export function useCustomer(): Customer | null {
  const current = useCustomerSession();
  return current === null || current.hasEnded ? null : current.customer;
}

/** Stores the session of a customer who has signed in. */
export function startCustomerSession(signedIn: { customer: Customer; accessToken: string; expiresAt: string }): void {
  const { id, firstName, lastName } = signedIn.customer;
  session.start({ id, firstName, lastName }, signedIn.accessToken, signedIn.expiresAt);
}

/**
 * The client that asks for the signed-in customer, or for an anonymous visitor. Each has a cache of their
 * own.
 */
export function useCustomerClient(): Client {
  return clientOf(useCustomer()?.id ?? null);
}

let latest: { customerId: string | null; client: Client } | null = null;

/** The client of a customer. All pages share it, and the next customer replaces it. */
function clientOf(customerId: string | null): Client {
  if (latest?.customerId !== customerId) {
    latest = { customerId, client: createClient(customerIdentity, shopUpdates) };
  }
  return (latest as { client: Client }).client;
}
