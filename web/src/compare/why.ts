/** In one sentence, why the data models differ, from their operations. */
import { ratioInWords } from "../charges/ratio.js";
import { counted } from "../ui/count.js";
import type { ComparisonQuery } from "./compare.generated.js";

export type Plan = NonNullable<ComparisonQuery["comparison"]>[number];

/** Below this the data models do the same. */
const RATIO_MIN = 1.2;

/** `V1`, or `V1, data loader`. */
export function planName({ model, batched }: { model: string; batched: boolean }): string {
  return batched ? `${model}, data loader` : model;
}

export function why(plans: readonly Plan[]): string {
  const v1 = plans.find(({ model, batched }) => model === "V1" && !batched);
  const v3 = plans.find(({ model }) => model === "V3");
  if (v1 === undefined || v3 === undefined) {
    return "";
  }
  const ratio = v1.requestCharge / Math.max(v3.requestCharge, 0.01);
  if (ratio < RATIO_MIN) {
    return `All data models do the same here: ${inWords(v3)}.`;
  }
  return `V3 costs ${ratioInWords(1, ratio)} of V1. V3 runs ${inWords(v3)}; V1 runs ${inWords(v1)}.`;
}

function inWords({ operations }: Plan): string {
  const parts = operations.map(({ kind, times, container, physicalPartitions }) => {
    const name = { POINT_READ: "point read", QUERY: "query", COUNT: "count" }[kind as string] ?? kind.toLowerCase();
    const where = physicalPartitions > 1 ? ` across ${physicalPartitions} physical partitions` : "";
    return `${counted(times, name, name === "query" ? "queries" : `${name}s`)} in ${container}${where}`;
  });
  return parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1) ?? ""}` : (parts[0] ?? "nothing");
}
