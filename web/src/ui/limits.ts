const numbers = new Intl.NumberFormat("en");

/** Characters as the server counts them: Unicode scalar values. */
export function lengthOf(text: string): number {
  const pairs = text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0;
  return text.length - pairs;
}

/** `12 of 200`, or by how much it is too long. */
export function limitInWords(text: string, charsMax: number): string {
  const length = lengthOf(text);
  return length > charsMax
    ? `${numbers.format(length - charsMax)} too many`
    : `${numbers.format(length)} of ${numbers.format(charsMax)}`;
}
