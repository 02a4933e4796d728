const format = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** A request charge as people read it: `2,063.54 RU`. */
export function formatRequestCharge(requestCharge: number | null): string {
  return requestCharge === null ? "unknown" : `${format.format(requestCharge)} RU`;
}
