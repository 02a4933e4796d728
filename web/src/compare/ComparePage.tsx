import { useState } from "react";
import { useQuery } from "urql";
import { formatRequestCharge } from "../api/request-charge.js";
import { usePageTitle } from "../app/page-title.js";
import { OperationsTable } from "../charges/OperationsTable.js";
import { Failure } from "../ui/Failure.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { PAGE_ITEMS, READS, TITLES } from "./article.js";
import { ComparisonDocument, ItemsToCompareDocument, type ReadRequest } from "./compare.generated.js";
import { itemsFor, needsItem } from "./items.js";
import { LogBars } from "./LogBars.js";
import { TrafficMix } from "./TrafficMix.js";
import { planName, why, type Plan } from "./why.js";
import "./compare.css";

/** The number of recent posts, with their authors, to choose from. */
const ITEMS = 20;

const milliseconds = (ms: number): string => `${ms < 10 ? ms.toFixed(2) : ms.toFixed(0)} ms`;

/** The same question asked of each data model, on the live data. */
export default function ComparePage() {
  usePageTitle("Compare", "The cost of the same read under three data models, and its reasons.");
  const [request, setRequest] = useState<ReadRequest>("Q6");
  const [chosen, setChosen] = useState<string | null>(null);
  const [{ data }] = useQuery({ query: ItemsToCompareDocument, variables: { first: ITEMS } });
  const items = itemsFor(request, data?.feed?.nodes ?? []);
  const item = items.find(({ id }) => id === chosen) ?? items[0];
  const isReady = !needsItem(request) || item !== undefined;
  return (
    <div className="compare">
      <header>
        <h1>One question, three data models</h1>
        <p className="compare-lead">
          V1 is normalised. V2 stores names and counts where they are shown. V3, which this blog uses, copies posts to
          where they are read. Each request runs on the live data.
        </p>
      </header>
      <form className="compare-choice">
        <div className="field">
          <label htmlFor="compare-request">Request</label>
          <select
            id="compare-request"
            value={request}
            onChange={(event) => {
              setRequest(event.target.value as ReadRequest);
              setChosen(null);
            }}
          >
            {READS.map((each) => (
              <option key={each} value={each}>
                {each} · {TITLES[each]}
              </option>
            ))}
          </select>
        </div>
        {needsItem(request) && (
          <div className="field">
            <label htmlFor="compare-item">Of</label>
            <select
              id="compare-item"
              value={item?.id ?? ""}
              onChange={(event) => {
                setChosen(event.target.value);
              }}
            >
              {items.map(({ id, name }) => (
                <option key={id} value={id} dir="auto">
                  {name}
                </option>
              ))}
            </select>
          </div>
        )}
      </form>
      <section className="compare-result" aria-label="Result" aria-live="polite">
        {isReady ? <Result request={request} id={item?.id} /> : <SkeletonLines lines={8} />}
      </section>
      <TrafficMix />
    </div>
  );
}

function Result({ request, id }: { request: ReadRequest; id: string | undefined }) {
  const [{ data, error, fetching }, runAgain] = useQuery({
    query: ComparisonDocument,
    variables: { request, first: PAGE_ITEMS[request], ...(needsItem(request) && id !== undefined ? { id } : {}) },
    requestPolicy: "network-only",
  });
  const plans = data?.comparison ?? undefined;
  if (error !== undefined && plans === undefined) {
    return <Failure error={error} onRetry={runAgain} />;
  }
  return plans === undefined || fetching ? <SkeletonLines lines={8} /> : <Plans plans={plans} />;
}

function Plans({ plans }: { plans: readonly Plan[] }) {
  const isEstimated = plans.some(({ chargeSource }) => chargeSource === "ESTIMATED");
  const partitions = Math.max(
    ...plans.flatMap(({ operations }) => operations.map((operation) => operation.physicalPartitions)),
    1,
  );
  return (
    <>
      <p className="compare-why">{why(plans)}</p>
      <div className="compare-charts">
        <LogBars
          title="Request units"
          isEstimated={isEstimated}
          format={formatRequestCharge}
          bars={plans.map((plan) => ({
            name: planName(plan),
            value: plan.requestCharge,
          }))}
        />
        <LogBars
          title="Time"
          isEstimated={false}
          format={milliseconds}
          bars={plans.map((plan) => ({
            name: planName(plan),
            value: plan.durationMs,
          }))}
        />
      </div>
      <p className="compare-note">
        {partitions > 1 && `A query across partitions visits ${partitions}. `}
        {isEstimated && "The charges here are estimates of a model, not figures of the service. "}
        The reads run one after the other, so later reads may be served from memory.
      </p>
      <div className="compare-operations">
        <h2>Store operations of each data model</h2>
        {plans.map((plan) => (
          <details key={planName(plan)} open={plan.model === "V3" || (plan.model === "V1" && !plan.batched)}>
            <summary>
              {planName(plan)} <span className="cost-sum">{formatRequestCharge(plan.requestCharge)}</span>
            </summary>
            <OperationsTable operations={plan.operations} />
          </details>
        ))}
      </div>
    </>
  );
}
