/**
 * Exact amounts of money: decimal strings of the API, formatted and added as integers of their last decimal.
 * No amount is ever a floating-point number.
 */

export interface Money {
  /** A decimal number, such as `12.50`. */
  amount: string;
  /** By ISO 4217. */
  currencyCode: string;
}

/** An amount in its smallest unit, and how many decimals that unit has. */
interface Exact {
  units: bigint;
  decimals: number;
}

/** `€12.50`, `¥1,200`. The decimals follow the amount. */
export function formatMoney({ amount, currencyCode }: Money): string {
  const { decimals } = exact(amount);
  const format = new Intl.NumberFormat("en", {
    style: "currency",
    currency: currencyCode,
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  // Intl formats a decimal string exactly.
  return format.format(amount as `${number}`);
}

/** The price of several. */
export function timesQuantity({ amount, currencyCode }: Money, quantity: number): Money {
  const { units, decimals } = exact(amount);
  return { amount: decimal({ units: units * BigInt(quantity), decimals }), currencyCode };
}

/** The sum; null where there is nothing to add, or more than one currency. */
export function sumOf(amounts: readonly Money[]): Money | null {
  const [first] = amounts;
  if (first === undefined || amounts.some(({ currencyCode }) => currencyCode !== first.currencyCode)) {
    return null;
  }
  const parts = amounts.map(({ amount }) => exact(amount));
  const decimals = Math.max(...parts.map((part) => part.decimals));
  const units = parts.reduce((sum, part) => sum + part.units * 10n ** BigInt(decimals - part.decimals), 0n);
  return { amount: decimal({ units, decimals }), currencyCode: first.currencyCode };
}

/** The order of two amounts: by currency, then by amount. Negative where the first comes first. */
export function compareMoney(a: Money, b: Money): number {
  if (a.currencyCode !== b.currencyCode) {
    return a.currencyCode < b.currencyCode ? -1 : 1;
  }
  const [first, second] = [exact(a.amount), exact(b.amount)];
  const difference = first.units * 10n ** BigInt(second.decimals) - second.units * 10n ** BigInt(first.decimals);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Whether a text is an amount as the API writes it. */
export function isAmount(text: string): boolean {
  return /^\d{1,40}(\.\d{1,10})?$/.test(text);
}

function exact(amount: string): Exact {
  const [whole = "0", fraction = ""] = amount.split(".");
  return { units: BigInt(whole + fraction), decimals: fraction.length };
}

function decimal({ units, decimals }: Exact): string {
  if (decimals === 0) {
    return units.toString();
  }
  const digits = units.toString().padStart(decimals + 1, "0");
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}
