/** The use of a mix of requests under each data model. Rates and charges in, figures out. */
import { READS, WRITES, type AnyRequest, type Charges } from "./article.js";

/** Requests a second. */
export type Rates = Readonly<Record<AnyRequest, number>>;

export interface Throughput {
  model: "V1" | "V2" | "V3";
  /** RU/s. */
  reads: number;
  /** RU/s. */
  writes: number;
}

/** A blog of which is read more than written. */
export const USUAL_RATES: Rates = { Q1: 5, Q2: 20, Q3: 5, Q4: 20, Q5: 5, Q6: 10, C1: 0.1, C2: 0.5, C3: 2, C4: 5 };

export function throughputs(rates: Rates, charges: Charges): Throughput[] {
  return (["V1", "V2", "V3"] as const).map((model, index) => {
    const sum = (requests: readonly AnyRequest[]): number =>
      requests.reduce((total, request) => total + rates[request] * (charges[request][index] ?? 0), 0);
    return { model, reads: sum(READS), writes: sum(WRITES) };
  });
}

/**
 * With how many reads for each write, in this mix, V3 begins to take less than V1; null where it never does,
 * or where reads or writes are missing.
 */
export function breakEven(rates: Rates, charges: Charges): number | null {
  const count = (requests: readonly AnyRequest[]): number => requests.reduce((sum, request) => sum + rates[request], 0);
  const reads = count(READS);
  const writes = count(WRITES);
  const [v1, , v3] = throughputs(rates, charges);
  if (reads === 0 || writes === 0 || v1 === undefined || v3 === undefined) {
    return null;
  }
  const savedByRead = (v1.reads - v3.reads) / reads;
  const paidByWrite = (v3.writes - v1.writes) / writes;
  return savedByRead > 0 ? Math.max(0, paidByWrite / savedByRead) : null;
}

/** Rates between 0 and 1,000 a second on 40 steps of a slider: small ones finely, large ones coarsely. */
export const STEPS = 40;

export function rateOf(step: number): number {
  const rate = step === 0 ? 0 : 0.1 * 10 ** ((step - 1) * (4 / (STEPS - 1)));
  return Number(rate.toPrecision(2));
}

export function stepOf(rate: number): number {
  return rate === 0 ? 0 : Math.round(1 + Math.log10(rate / 0.1) * ((STEPS - 1) / 4));
}
