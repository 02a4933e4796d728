import { useId, useState, type ReactNode } from "react";
import { useQuery } from "urql";
import { formatRequestCharge } from "../api/request-charge.js";
import type { StoreOperation } from "../charges/ledger.js";
import { OperationsTable } from "../charges/OperationsTable.js";
import { ratioInWords } from "../charges/ratio.js";
import { counted } from "../ui/count.js";
import { Failure } from "../ui/Failure.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { RankedCustomers, type RankedCustomer } from "./RankedCustomers.js";
import { RankingAcrossPartitionsDocument } from "./ranking.generated.js";
import { RANKED_CUSTOMERS } from "./ranking-limits.js";

/** The kind of operation by which a query waits for one's own writes. */
const WAIT = "CHANGE_FEED";

interface Charge {
  requestCharge: number;
  operations: readonly StoreOperation[];
}

type Extensions = Record<string, unknown> | undefined;

/** The ranking by its read model, and by the article's query across partitions, with the charge of each. */
export function RankingCosts({
  customers,
  extensions,
}: {
  /** Of the read model. */
  customers: readonly RankedCustomer[] | undefined;
  /** Of the response that has them. */
  extensions: Extensions;
}) {
  const [across, readAcross] = useQuery({
    query: RankingAcrossPartitionsDocument,
    variables: { first: RANKED_CUSTOMERS },
    requestPolicy: "network-only",
  });
  const charges = [useLastCharge(extensions), useLastCharge(across.extensions)] as const;
  if (across.error !== undefined) {
    return <Failure error={across.error} onRetry={readAcross} />;
  }
  return (
    <>
      <p className="ranking-why">{inWords(...charges)}</p>
      <div className="rankings">
        <Ranking title="One hop to the read model" customers={customers} charge={charges[0]} />
        <Ranking
          title="Query across partitions"
          customers={across.data?.topCustomersAcrossPartitions ?? undefined}
          charge={charges[1]}
        />
      </div>
    </>
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
      {customers === undefined ? <SkeletonLines lines={RANKED_CUSTOMERS} /> : <RankedCustomers customers={customers} />}
      {charge !== null && charge.operations.length > 0 && <OperationsTable operations={charge.operations} />}
    </section>
  );
}

/** The charge of the last response. A result that comes from the cache has no charge, and changes nothing. */
function useLastCharge(extensions: Extensions): Charge | null {
  const [last, setLast] = useState<{ of: unknown; charge: Charge | null }>({ of: undefined, charge: null });
  if (extensions === last.of || typeof extensions?.requestCharge !== "number") {
    return last.charge;
  }
  const charge = chargeOfRead(extensions.requestCharge, extensions.operations);
  setLast({ of: extensions, charge });
  return charge;
}

/** The comparison of the charges. */
function inWords(oneHop: Charge | null, across: Charge | null): string {
  if (oneHop === null || across === null || oneHop.requestCharge === 0 || across.requestCharge === 0) {
    return "Reading both…";
  }
  const comparison =
    across.requestCharge >= oneHop.requestCharge
      ? `One hop costs ${ratioInWords(oneHop.requestCharge, across.requestCharge)} of the query across partitions.`
      : `With so few partitions, the query across partitions costs ${ratioInWords(across.requestCharge, oneHop.requestCharge)} of one hop.`;
  const visited = Math.max(...across.operations.map(({ physicalPartitions }) => physicalPartitions), 0);
  return visited === 0
    ? comparison
    : `${comparison} The query visits ${counted(visited, "physical partition")}, and each further one adds to its charge.`;
}

/** The charge of the read, without the wait for one's own writes, which is the same for both. */
function chargeOfRead(requestCharge: number, reported: unknown): Charge {
  const all = Array.isArray(reported) ? (reported as StoreOperation[]) : [];
  const waits = all.filter(({ kind }) => kind === WAIT).reduce((sum, wait) => sum + wait.requestCharge, 0);
  return { requestCharge: requestCharge - waits, operations: all.filter(({ kind }) => kind !== WAIT) };
}
