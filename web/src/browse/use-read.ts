/** Reads by the operations API, with the operator key and the request charge of each. */
import { print } from "@0no-co/graphql.web";
import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import { createContext, useContext, useEffect, useState } from "react";
import { ask, RefusedRequest } from "../api/request.js";

/** The operations API is a schema of its own, at a path of its own. */
const ENDPOINT = "/operations/graphql";

/** The operator key of this tab; null without one. */
export const OperatorKeyContext = createContext<string | null>(null);

export type Read<Data> =
  | { state: "loading" }
  | { state: "failed"; error: Error; again: () => void }
  | { state: "shown"; data: Data; requestCharge: number | null; again: () => void };

interface Outcome<Data> {
  key: string;
  read: { data: Data; requestCharge: number | null } | Error;
}

/** Reads now, and whenever the question changes. `isWanted` is false for a read that waits for a button. */
export function useRead<Data, Variables extends Record<string, unknown>>(
  document: TypedDocumentNode<Data, Variables>,
  variables: NoInfer<Variables>,
  isWanted = true,
): Read<Data> {
  const operatorKey = useContext(OperatorKeyContext);
  const [round, setRound] = useState(0);
  const [outcome, setOutcome] = useState<Outcome<Data> | null>(null);
  const question = JSON.stringify(variables);
  const key = `${print(document)} ${question} ${round}`;
  useEffect(() => {
    if (!isWanted) {
      return;
    }
    const leaving = new AbortController();
    const read = async (): Promise<void> => {
      const options = { accessToken: operatorKey, endpoint: ENDPOINT, signal: leaving.signal };
      const answer = await ask(document, JSON.parse(question) as NoInfer<Variables>, options).catch(toError);
      if (!leaving.signal.aborted) {
        setOutcome({ key, read: answer });
      }
    };
    void read();
    return () => {
      leaving.abort();
    };
  }, [document, question, key, operatorKey, isWanted]);
  const again = (): void => {
    setRound((before) => before + 1);
  };
  if (outcome?.key !== key) {
    return { state: "loading" };
  }
  return outcome.read instanceof Error
    ? { state: "failed", error: outcome.read, again }
    : { state: "shown", ...outcome.read, again };
}

/** Whether the server asks for the operator key, or for another one. */
export function needsKey(error: Error): boolean {
  return error instanceof RefusedRequest && error.code === "UNAUTHENTICATED";
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
