import { useState } from "react";
import { ARTICLE_CHARGES, ESTIMATED_CHARGES, READS, TITLES, WRITES, type AnyRequest } from "./article.js";
import { LogBars } from "./LogBars.js";
import { breakEven, rateOf, STEPS, stepOf, throughputs, USUAL_RATES } from "./traffic.js";

const sources = {
  estimated: {
    charges: ESTIMATED_CHARGES,
    name: "Onehop: estimated with one physical partition, with the cost of copies",
  },
  measured: {
    charges: ARTICLE_CHARGES,
    name: "The article of 2019: measured with 70 physical partitions, without the cost of copies",
  },
};

const throughput = (ruPerSecond: number): string => `${Math.round(ruPerSecond).toLocaleString("en")} RU/s`;

/** The cost of one's own traffic: the rate of each request, and its cost under each data model. */
export function TrafficMix() {
  const [rates, setRates] = useState(USUAL_RATES);
  const [source, setSource] = useState<keyof typeof sources>("estimated");
  const { charges } = sources[source];
  const models = throughputs(rates, charges);
  const ratio = breakEven(rates, charges);
  const sum = (requests: readonly AnyRequest[]): number =>
    requests.reduce((total, request) => total + rates[request], 0);
  const slider = (request: AnyRequest) => (
    <label key={request} className="slider">
      <span>
        {request} · {TITLES[request]}
      </span>
      <span className="slider-value" aria-hidden="true">
        {rates[request]}/s
      </span>
      <input
        type="range"
        min={0}
        max={STEPS}
        value={stepOf(rates[request])}
        aria-valuetext={`${rates[request]} a second`}
        onChange={(event) => {
          setRates({ ...rates, [request]: rateOf(Number(event.target.value)) });
        }}
      />
    </label>
  );
  return (
    <section className="mix" aria-labelledby="mix-title">
      <h2 id="mix-title">Your own traffic</h2>
      <p className="compare-lead">
        Copies make reads cheap and writes expensive. Whether that pays off depends on how often each happens.
      </p>
      <div className="mix-columns">
        <fieldset>
          <legend>Reads</legend>
          {READS.map(slider)}
        </fieldset>
        <fieldset>
          <legend>Writes</legend>
          {WRITES.map(slider)}
          <div className="field mix-source">
            <label htmlFor="mix-source">Charges</label>
            <select
              id="mix-source"
              value={source}
              onChange={(event) => {
                setSource(event.target.value as keyof typeof sources);
              }}
            >
              {Object.entries(sources).map(([key, { name }]) => (
                <option key={key} value={key}>
                  {name}
                </option>
              ))}
            </select>
          </div>
        </fieldset>
      </div>
      <LogBars
        title="Throughput"
        isEstimated={source === "estimated"}
        format={throughput}
        bars={models.map(({ model, reads, writes }) => ({ name: model, value: reads + writes }))}
      />
      <p className="compare-why" role="status">
        {verdict(ratio, sum(READS), sum(WRITES))}
      </p>
    </section>
  );
}

function verdict(ratio: number | null, reads: number, writes: number): string {
  if (reads === 0 || writes === 0) {
    return reads === 0 ? "Without reads, copies only cost." : "Without writes, copies cost nothing.";
  }
  const have = reads / writes;
  if (ratio === null) {
    return "In this mix V3 never costs less than V1.";
  }
  const words = (value: number): string => value.toLocaleString("en", { maximumSignificantDigits: 2 });
  return `V3 costs less than V1 above ${words(ratio)} reads per write; this mix has ${words(have)}.`;
}
