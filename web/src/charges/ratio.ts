/** From this factor on, a part is worded as a fraction. */
const FACTOR_MIN = 10;

/** The comparison of a smaller charge with a larger one: `1/96`, `43 %`. */
export function ratioInWords(part: number, whole: number): string {
  const factor = whole / part;
  return factor >= FACTOR_MIN ? `1/${Math.round(factor).toLocaleString("en")}` : `${Math.round(100 / factor)} %`;
}
