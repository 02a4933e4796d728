/**
 * The session of a customer of the shop. A customer is no user of the blog: the API gives customers an access token and nothing to renew it
 * by, so it is kept in this tab's `sessionStorage` and ends with the tab, or when the server refuses it.
 */
import { useSyncExternalStore } from "react";
import { type Client } from "urql";
import { createClient, type Identity } from "../api/client.js";
import { shopUpdates } from "./shop-cache.js";

const STORAGE_KEY = "onehop:customer";

export interface Customer {
  id: string;
  firstName: string;
  lastName: string;
}

export interface CustomerSession {
  customer: Customer;
  accessToken: string;
  /** Whether the customer has to sign in again. */
  hasEnded: boolean;
}

const listeners = new Set<() => void>();
let session = parseSession(sessionStorage.getItem(STORAGE_KEY));

export function currentCustomerSession(): CustomerSession | null {
  return session;
}

/** The session, also one that has ended; null where there is none. */
export function useCustomerSession(): CustomerSession | null {
  return useSyncExternalStore(subscribe, currentCustomerSession);
}

/** The signed-in customer. */
export function useCustomer(): Customer | null {
  const current = useCustomerSession();
  return current === null || current.hasEnded ? null : current.customer;
}

export function startCustomerSession({ customer, accessToken }: { customer: Customer; accessToken: string }): void {
  const { id, firstName, lastName } = customer;
  replace({ customer: { id, firstName, lastName }, accessToken, hasEnded: false });
}

/** Signs out: nothing on the server has to hear of it. */
export function endCustomerSession(): void {
  replace(null);
}

let current: { session: CustomerSession | null; client: Client } | null = null;

/** The client that asks for the signed-in customer, or for an anonymous visitor. Each has a cache of their own. */
export function useCustomerClient(): Client {
  const shown = useCustomerSession();
  if (current?.session !== shown) {
    current = { session: shown, client: createClient(identityOf(shown), shopUpdates) };
  }
  return (current as { client: Client }).client;
}

/** Requests on behalf of this session, which ends where the server refuses its token. */
export function identityOf(of: CustomerSession | null): Identity {
  const token = (): Promise<string | null> => Promise.resolve(of === null || of.hasEnded ? null : of.accessToken);
  const end = (): void => {
    if (of !== null && session === of) {
      replace({ ...of, hasEnded: true });
    }
  };
  return {
    accessToken: token,
    accessTokenAfter: () => {
      end();
      return Promise.resolve(null);
    },
    signInNeeded: end,
  };
}

/** A session as it was stored; null where the text is none. */
export function parseSession(text: string | null): CustomerSession | null {
  try {
    const { customer, accessToken, hasEnded } = JSON.parse(text ?? "null") as CustomerSession;
    const texts = [customer.id, customer.firstName, customer.lastName, accessToken];
    const isSession = texts.every((each) => typeof each === "string") && typeof hasEnded === "boolean";
    return isSession ? { customer, accessToken, hasEnded } : null;
  } catch {
    return null;
  }
}

function replace(next: CustomerSession | null): void {
  session = next;
  if (next === null) {
    sessionStorage.removeItem(STORAGE_KEY);
  } else {
    sessionStorage.setItem(STORAGE_KEY, JSON.stringify(next));
  }
  listeners.forEach((listener) => {
    listener();
  });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
