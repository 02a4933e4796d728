import { describe, expect, test } from "vitest";
import { ARTICLE_CHARGES, ESTIMATED_CHARGES, type AnyRequest } from "./article.js";
import { breakEven, rateOf, STEPS, stepOf, throughputs, USUAL_RATES, type Rates } from "./traffic.js";

const nothing = Object.fromEntries(Object.keys(USUAL_RATES).map((request) => [request, 0])) as Rates;

function only(rates: Partial<Record<AnyRequest, number>>): Rates {
  return { ...nothing, ...rates };
}

describe("a mix of requests", () => {
  test("takes the sum of rates and charges", () => {
    expect(throughputs(only({ Q6: 2, C4: 10 }), ARTICLE_CHARGES)).toEqual([
      { model: "V1", reads: 4127.08, writes: 70.5 },
      { model: "V2", reads: 1064.66, writes: 146.7 },
      { model: "V3", reads: 33.94, writes: 146.7 },
    ]);
  });

  test("takes the same under V1 and V3 at the break-even", () => {
    const rates = only({ Q4: 7, C2: 3 });
    const ratio = breakEven(rates, ESTIMATED_CHARGES) ?? 0;
    const [v1, , v3] = throughputs(only({ Q4: ratio * 3, C2: 3 }), ESTIMATED_CHARGES);
    expect((v1?.reads ?? 0) + (v1?.writes ?? 0)).toBeCloseTo((v3?.reads ?? 0) + (v3?.writes ?? 0), 6);
    expect(ratio).toBeGreaterThan(1);
  });

  test("has no break-even without reads, without writes, or where V3 saves nothing", () => {
    expect(breakEven(only({ Q6: 1 }), ARTICLE_CHARGES)).toBeNull();
    expect(breakEven(only({ C2: 1 }), ARTICLE_CHARGES)).toBeNull();
    expect(breakEven(only({ Q1: 1, C3: 1 }), ARTICLE_CHARGES)).toBeNull();
  });
});

describe("a slider", () => {
  test("goes from nothing to a thousand a second", () => {
    expect([rateOf(0), rateOf(1), rateOf(STEPS)]).toEqual([0, 0.1, 1000]);
  });

  test("finds each of its steps again", () => {
    for (let step = 0; step <= STEPS; step += 1) {
      expect(stepOf(rateOf(step))).toBe(step);
    }
  });
});
