/** The load of a container, in words. */

export interface Hot {
  /** The charge is known between two bounds, in request units. */
  requestCharge: number;
  requestChargeMax: number;
}

export interface Load {
  operations: number;
  requestCharge: number;
  requestChargeAcross: number;
  keysTold: boolean;
  hottest: readonly Hot[];
}

/** From this part of a container's charge on, queries of all logical partitions are worth a word. */
const ACROSS_SHARE_MIN = 0.01;
/** From this part on, one logical partition is a hot spot. */
const HOT_SHARE_MIN = 0.5;
/** Where no logical partition takes this part, the charge is spread wide. */
const WARM_SHARE_MIN = 0.01;

/** The load of a container's logical partitions, by charge. */
export function loadInWords({ operations, requestCharge, requestChargeAcross, keysTold, hottest }: Load): string {
  if (operations === 0) {
    return "No operations yet.";
  }
  const across = shareOf(requestChargeAcross, requestCharge);
  const ofAll =
    across < ACROSS_SHARE_MIN ? "" : ` ${percent(across)} went to the change feed and to queries of all of them.`;
  if (!keysTold) {
    return `Its partition keys are not shown.${ofAll}`;
  }
  const top = hottest[0];
  if (top === undefined) {
    return `No operation on a single logical partition yet.${ofAll}`;
  }
  const share = shareOf(top.requestCharge, requestCharge);
  if (share < WARM_SHARE_MIN) {
    return `Spread evenly: no logical partition is known to take more than ${percent(share)} of the charge.${ofAll}`;
  }
  const isHot = share >= HOT_SHARE_MIN ? "A hot spot: one" : "The hottest";
  return `${isHot} logical partition takes ${percent(share)} of the charge.${ofAll}`;
}

/**
 * The part of a logical partition in a container's charge: between two bounds where they differ to the eye.
 */
export function shareInWords({ requestCharge, requestChargeMax }: Hot, ofAll: number): string {
  const [least, most] = [requestCharge, requestChargeMax].map((charge) => percent(shareOf(charge, ofAll)));
  return least === most ? String(least) : `${String(least).replace(" %", "")}–${String(most)}`;
}

/** The length of a bar beside the hottest one's, in percent. */
export function lengthOfBar(charge: number, hottest: readonly Hot[]): number {
  return 100 * shareOf(charge, Math.max(...hottest.map(({ requestChargeMax }) => requestChargeMax)));
}

/** The shown parts of a partition key: its beginning and its end. */
export function shortKey(key: string): string {
  return key.length <= 16 ? key : `${key.slice(0, 8)}…${key.slice(-6)}`;
}

function shareOf(charge: number, ofAll: number): number {
  return ofAll > 0 ? Math.min(charge / ofAll, 1) : 0;
}

function percent(share: number): string {
  return share > 0 && share < 0.001
    ? "< 0.1 %"
    : `${(100 * share).toLocaleString("en", { maximumFractionDigits: 1 })} %`;
}
