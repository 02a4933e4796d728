import { useId, useState, type ReactNode } from "react";
import { useQuery } from "urql";
import { Link } from "wouter";
import { codeOf } from "../api/errors.js";
import { formatRequestCharge } from "../api/request-charge.js";
import { useSession } from "../api/session.js";
import { usePageTitle } from "../app/page-title.js";
import type { StoreOperation } from "../charges/ledger.js";
import { OperationsTable } from "../charges/OperationsTable.js";
import { counted } from "../ui/count.js";
import { Failure } from "../ui/Failure.js";
import { Notice } from "../ui/Notice.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { RankingAcrossPartitionsDocument, RankingDocument } from "./ranking.generated.js";
import { ShopFrame } from "./ShopFrame.js";

/** How many customers are listed. */
const CUSTOMERS = 10;
/** The kind of operation by which a query waits for one's own writes. */
const WAIT = "CHANGE_FEED";

interface RankedCustomer {
  firstName: string;
  lastName: string;
  salesOrderCount: number;
}

interface Charge {
  requestCharge: number;
  operations: readonly StoreOperation[];
}

/** The customers with most orders, by one hop and by the article's query across partitions, with what each was charged. */
export default function RankingPage() {
  usePageTitle("Ranking of customers");
  const session = useSession();
  return (
    <ShopFrame>
      {session === null || session.hasEnded ? (
        <Notice heading="h1" title="Staff sign in with their account of the blog">
          <Link className="button" href="/signin?next=%2Fshop%2Franking">
            Sign in
          </Link>
        </Notice>
      ) : (
        <Rankings />
      )}
    </ShopFrame>
  );
}

function Rankings() {
  const options = { variables: { first: CUSTOMERS }, requestPolicy: "network-only" } as const;
  const [oneHop, readOneHop] = useQuery({ query: RankingDocument, ...options });
  const [across, readAcross] = useQuery({ query: RankingAcrossPartitionsDocument, ...options });
  const charges = [useLastCharge(oneHop.extensions), useLastCharge(across.extensions)] as const;
  const error = oneHop.error ?? across.error;
  if (error !== undefined && codeOf(error) === "FORBIDDEN") {
    return (
      <Notice heading="h1" title="The ranking is for staff">
        <p>The server’s settings name them. In the demo that is ada.</p>
      </Notice>
    );
  }
  if (error !== undefined) {
    return (
      <Failure
        error={error}
        onRetry={() => {
          readOneHop({ requestPolicy: "network-only" });
          readAcross({ requestPolicy: "network-only" });
        }}
      />
    );
  }
  return (
    <div className="wide">
      <header className="shop-intro">
        <h1>Customers with most orders</h1>
        <p>
          The same question twice. A projection keeps the ranking in one logical partition; the article asks all
          partitions.
        </p>
      </header>
      <p className="ranking-why">{inWords(...charges)}</p>
      <div className="rankings">
        <Ranking title="One hop" customers={oneHop.data?.topCustomers?.nodes} charge={charges[0]} />
        <Ranking
          title="Across partitions"
          customers={across.data?.topCustomersAcrossPartitions ?? undefined}
          charge={charges[1]}
        />
      </div>
    </div>
  );
}

function Ranking({
  title,
  customers,
  charge,
}: {
  title: string;
  customers: readonly RankedCustomer[] | undefined;
  charge: Charge | null;
}): ReactNode {
  const titleId = useId();
  return (
    <section className="ranking" aria-labelledby={titleId}>
      <h2 id={titleId}>
        {title} {charge !== null && <span className="cost-sum">{formatRequestCharge(charge.requestCharge)}</span>}
      </h2>
      {customers === undefined ? (
        <SkeletonLines lines={10} />
      ) : customers.length === 0 ? (
        <p className="shop-none">There are no customers yet.</p>
      ) : (
        <ol>
          {customers.map(({ firstName, lastName, salesOrderCount }, index) => (
            <li key={index}>
              <bdi>
                {firstName} {lastName}
              </bdi>{" "}
              <span>{counted(salesOrderCount, "order")}</span>
            </li>
          ))}
        </ol>
      )}
      {charge !== null && charge.operations.length > 0 && <OperationsTable operations={charge.operations} />}
    </section>
  );
}

/** What the last response was charged. A result that comes from the cache has none, and changes nothing. */
function useLastCharge(extensions: Record<string, unknown> | undefined): Charge | null {
  const [last, setLast] = useState<{ of: unknown; charge: Charge | null }>({ of: undefined, charge: null });
  if (extensions === last.of || typeof extensions?.requestCharge !== "number") {
    return last.charge;
  }
  const charge = chargeOfRead(extensions.requestCharge, extensions.operations);
  setLast({ of: extensions, charge });
  return charge;
}

/** How the charges compare. */
function inWords(oneHop: Charge | null, across: Charge | null): string {
  if (oneHop === null || across === null || oneHop.requestCharge === 0) {
    return "Reading both…";
  }
  const visited = Math.max(...across.operations.map(({ physicalPartitions }) => physicalPartitions), 0);
  const times = across.requestCharge / oneHop.requestCharge;
  const comparison =
    times >= 1
      ? `One hop takes ${times.toFixed(1)} times less`
      : `One hop takes ${(1 / times).toFixed(1)} times more, with as few partitions as here`;
  return visited === 0
    ? `${comparison}.`
    : `${comparison}. The other query visits ${counted(visited, "physical partition")}, and each further one adds to its charge.`;
}

/** What reading was charged, without the wait for one's own writes, which is the same for both. */
function chargeOfRead(requestCharge: number, reported: unknown): Charge {
  const all = Array.isArray(reported) ? (reported as StoreOperation[]) : [];
  const waits = all.filter(({ kind }) => kind === WAIT).reduce((sum, wait) => sum + wait.requestCharge, 0);
  return { requestCharge: requestCharge - waits, operations: all.filter(({ kind }) => kind !== WAIT) };
}
