import { describe, expect, test } from "vitest";
import { compareMoney, formatMoney, isAmount, sumOf, timesQuantity } from "./money.js";

const euros = (amount: string) => ({ amount, currencyCode: "EUR" });

describe("an amount of money", () => {
  test.each([
    [euros("12.50"), "€12.50"],
    [euros("0.07"), "€0.07"],
    [{ amount: "1200", currencyCode: "JPY" }, "¥1,200"],
    [{ amount: "1.250", currencyCode: "KWD" }, "KWD 1.250"],
    // More digits than a floating-point number has.
    [euros("90071992547409939.99"), "€90,071,992,547,409,939.99"],
  ])("%j reads %s", (money, text) => {
    expect(formatMoney(money).replace(/\u00A0/g, " ")).toBe(text);
  });

  test("is multiplied and added exactly", () => {
    expect(timesQuantity(euros("0.10"), 3)).toEqual(euros("0.30"));
    expect(timesQuantity(euros("9999999999.99"), 1000)).toEqual(euros("9999999999990.00"));
    expect(timesQuantity({ amount: "7", currencyCode: "JPY" }, 6).amount).toBe("42");
    expect(sumOf([euros("0.10"), euros("0.20"), euros("0.7")])).toEqual(euros("1.00"));
  });

  test("has no sum with another currency, or with nothing", () => {
    expect(sumOf([euros("1.00"), { amount: "1", currencyCode: "JPY" }])).toBeNull();
    expect(sumOf([])).toBeNull();
  });

  test.each([
    ["12.50", true],
    ["0", true],
    ["-1", false],
    ["1e3", false],
    ["", false],
    ["1.", false],
  ])("%j is one: %s", (text, expected) => {
    expect(isAmount(text)).toBe(expected);
  });
});

test.each([
  ["9.50", "10.00", -1],
  ["10.00", "9.50", 1],
  ["1.0", "1.00", 0],
  ["3", "2.99", 1],
])("the order of %s and %s", (a, b, expected) => {
  expect(compareMoney(euros(a), euros(b))).toBe(expected);
});
