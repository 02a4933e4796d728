import { scaleLog } from "d3-scale";
import { useId } from "react";

export interface Bar {
  name: string;
  value: number;
}

/** A bar chart on a logarithmic scale, with a table for screen readers. */
export function LogBars({
  title,
  bars,
  isEstimated,
  format,
}: {
  title: string;
  bars: readonly Bar[];
  /** A model computed the values; otherwise they were measured. */
  isEstimated: boolean;
  format: (value: number) => string;
}) {
  const titleId = useId();
  const values = bars.map(({ value }) => value).filter((value) => value > 0);
  const low = 10 ** Math.floor(Math.log10(Math.min(...values, 1)));
  const high = 10 ** Math.ceil(Math.log10(Math.max(...values, 10)));
  const scale = scaleLog().domain([low, high]).range([0, 100]).clamp(true);
  const at = (value: number): string => `${scale(Math.max(value, low)).toFixed(2)}%`;
  const ticks = scale.ticks().filter((tick) => Number.isInteger(Math.log10(tick)));
  return (
    <figure className="bars" aria-labelledby={titleId}>
      <figcaption id={titleId}>
        {title}{" "}
        <span className={isEstimated ? "source source-estimated" : "source"}>
          {isEstimated ? "estimated" : "measured"}
        </span>
      </figcaption>
      <table>
        <thead className="unseen">
          <tr>
            <th scope="col">Data model</th>
            <th scope="col">{title}</th>
          </tr>
        </thead>
        <tbody>
          {bars.map(({ name, value }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>
                <span className="track" aria-hidden="true">
                  {ticks.map((tick) => (
                    <i key={tick} style={{ left: at(tick) }} />
                  ))}
                  <span className={isEstimated ? "bar bar-estimated" : "bar"} style={{ width: at(value) }} />
                </span>
                <span className="value">{format(value)}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <div className="axis" aria-hidden="true">
        {ticks.map((tick) => (
          <span key={tick} style={{ left: at(tick) }}>
            {tick.toLocaleString("en", { maximumSignificantDigits: 1 })}
          </span>
        ))}
      </div>
    </figure>
  );
}
