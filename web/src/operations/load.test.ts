import { describe, expect, test } from "vitest";
import { lengthOfBar, loadInWords, shareInWords, shortKey, type Load } from "./load.js";

function load(more: Partial<Load>): Load {
  return { operations: 10, requestCharge: 200, requestChargeAcross: 0, keysTold: true, hottest: [], ...more };
}

const hot = (requestCharge: number, requestChargeMax = requestCharge) => ({ requestCharge, requestChargeMax });

describe("a container", () => {
  test.each([
    [load({ operations: 0, requestCharge: 0 }), "No operations yet."],
    [load({ keysTold: false }), "Its partition keys are not shown."],
    [load({ hottest: [hot(30), hot(10)] }), "The hottest logical partition takes 15 % of the charge."],
    [
      load({ hottest: [hot(1, 3)] }),
      "Spread evenly: no logical partition is known to take more than 0.5 % of the charge.",
    ],
    [load({ hottest: [hot(199)] }), "A hot spot: one logical partition takes 99.5 % of the charge."],
    [
      load({ hottest: [hot(30)], requestChargeAcross: 50 }),
      "The hottest logical partition takes 15 % of the charge. 25 % went to the change feed and to queries of all of them.",
    ],
    [
      load({ requestChargeAcross: 200 }),
      "No operation on a single logical partition yet. 100 % went to the change feed and to queries of all of them.",
    ],
    [load({ hottest: [hot(30)], requestChargeAcross: 1 }), "The hottest logical partition takes 15 % of the charge."],
  ])("%j: %s", (found, expected) => {
    expect(loadInWords(found)).toBe(expected);
  });
});

test.each([
  [hot(30), "15 %"],
  [hot(30, 30.02), "15 %"],
  [hot(30, 40), "15–20 %"],
  [hot(0.1, 0.1), "< 0.1 %"],
  [hot(400, 400), "100 %"],
])("a share of %j is %j", (found, expected) => {
  expect(shareInWords(found, 200)).toBe(expected);
});

test("without a charge there is no share", () => {
  expect(shareInWords(hot(0), 0)).toBe("0 %");
});

test("bars are as long as the hottest allows", () => {
  expect(lengthOfBar(20, [hot(30, 40), hot(20)])).toBe(50);
});

test("a long key loses its middle", () => {
  expect(shortKey("0190f3a2-1c7e-7b42-9d1e-5c0a8e4b7f21")).toBe("0190f3a2…4b7f21");
  expect(shortKey("post")).toBe("post");
});
