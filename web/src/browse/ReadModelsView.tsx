import { useState } from "react";
import { formatRequestCharge } from "../api/request-charge.js";
import { counted } from "../ui/count.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import {
  BrowseChargesDocument,
  BrowseReadModelsDocument,
  type BrowseChargesQuery,
  type BrowseReadModelsQuery,
} from "./browse.generated.js";
import { Charge } from "./Charge.js";
import { FailedRead } from "./FailedRead.js";
import { useRead } from "./use-read.js";

type ReadModel = BrowseReadModelsQuery["model"]["readModels"][number];
type Projection = BrowseReadModelsQuery["projections"][number];
type PredictedCharge = BrowseChargesQuery["predictedCharges"][number];

const KINDS = { COPY: "copy", LIST: "list", COUNT: "count", OWNS: "owns" } as const;

/** The read models of the model: each rule, the projections that keep it, their lag, and their charges. */
export function ReadModelsView() {
  const read = useRead(BrowseReadModelsDocument, {});
  const [isPredicted, setPredicted] = useState(false);
  const charges = useRead(BrowseChargesDocument, {}, isPredicted);
  if (read.state === "loading") {
    return <SkeletonLines lines={8} />;
  }
  if (read.state === "failed") {
    return <FailedRead {...read} />;
  }
  const { model, projections } = read.data;
  return (
    <>
      <h1>Read models</h1>
      <p className="browse-lead">
        {counted(model.readModels.length, "rule")} of the model, kept by {counted(projections.length, "projection")}.
      </p>
      <Summary projections={projections} />
      <div className="browse-end">
        <Charge requestCharge={read.requestCharge} />
        <button type="button" className="button button-plain" onClick={read.again}>
          Refresh
        </button>
      </div>
      <Rules readModels={model.readModels} projections={projections} />
      <section className="browse-section" aria-labelledby="charges-title">
        <h2 id="charges-title">Predicted request charges</h2>
        <p className="browse-lead">
          The request charge of the read models for one change of each kind, estimated on the present data. This reads
          every item once.
        </p>
        {!isPredicted ? (
          <button
            type="button"
            className="button"
            onClick={() => {
              setPredicted(true);
            }}
          >
            Predict
          </button>
        ) : charges.state === "loading" ? (
          <SkeletonLines lines={4} />
        ) : charges.state === "failed" ? (
          <FailedRead {...charges} />
        ) : (
          <>
            <Charges charges={charges.data.predictedCharges} />
            <Charge requestCharge={charges.requestCharge} />
          </>
        )}
      </section>
    </>
  );
}

function Summary({ projections }: { projections: readonly Projection[] }) {
  const pending = projections.reduce((sum, { pendingChanges }) => sum + pendingChanges, 0);
  const parked = projections.reduce((sum, { deadLetters }) => sum + deadLetters, 0);
  const state = parked > 0 ? "bad" : pending > 0 ? "busy" : "good";
  return (
    <p className={`browse-summary is-${state}`} role="status">
      {parked > 0
        ? `${counted(parked, "change")} could not be projected: onehop dead-letters list says why.`
        : pending > 0
          ? `${counted(pending, "change")} waiting to be projected.`
          : "Every read model is up to date."}
    </p>
  );
}

function Rules({ readModels, projections }: { readModels: readonly ReadModel[]; projections: readonly Projection[] }) {
  const named = new Map(projections.map((projection) => [projection.name, projection]));
  return (
    <ul className="browse-rules">
      {readModels.map(({ kind, summary, source, target, projections: names }) => (
        <li key={`${kind} ${summary}`} className="browse-card">
          <h2>
            <span className="browse-tag">{KINDS[kind]}</span> {summary}
          </h2>
          <p className="browse-soft">
            <code>{source}</code> → <code>{target}</code>
          </p>
          {names.length === 0 ? (
            <p className="browse-soft">Written by commands, in their own batch: always up to date.</p>
          ) : (
            <dl>
              {names.map((name) => (
                <div key={name}>
                  <dt>
                    <code>{name}</code>
                  </dt>
                  <dd>
                    <Lag projection={named.get(name)} />
                  </dd>
                </div>
              ))}
            </dl>
          )}
        </li>
      ))}
    </ul>
  );
}

function Lag({ projection }: { projection: Projection | undefined }) {
  if (projection === undefined) {
    return <>does not run</>;
  }
  const { pendingChanges, lagMs, deadLetters } = projection;
  return (
    <>
      {pendingChanges === 0 ? "up to date" : `${counted(pendingChanges, "change")} behind, ${lagInWords(lagMs)}`}
      {deadLetters > 0 && <strong className="browse-bad"> · {counted(deadLetters, "dead letter")}</strong>}
    </>
  );
}

function Charges({ charges }: { charges: readonly PredictedCharge[] }) {
  if (charges.length === 0) {
    return <p className="browse-empty">There are no items to predict from yet.</p>;
  }
  return (
    <div className="browse-scroll" tabIndex={0} role="region" aria-label="Table of charges">
      <table>
        <thead>
          <tr>
            <th scope="col">Charged to</th>
            <th scope="col">Change</th>
            <th scope="col">Reaches</th>
            <th scope="col">Operations</th>
            <th scope="col" className="browse-number">
              Charge
            </th>
          </tr>
        </thead>
        <tbody>
          {charges.map(({ rule, change, fanOut, operations, requestCharge }) => (
            <tr key={`${rule} ${change}`}>
              <th scope="row">
                <WithCode text={rule} />
              </th>
              <td>
                <WithCode text={change} />
              </td>
              <td>{fanOut}</td>
              <td>{operations}</td>
              <td className="browse-number">{formatRequestCharge(requestCharge)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A text whose parts between backticks are code. */
function WithCode({ text }: { text: string }) {
  return text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}

function lagInWords(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
