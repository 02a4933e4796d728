const numbers = new Intl.NumberFormat("en");

/** `1 like`, `1,024 likes`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${numbers.format(count)} ${count === 1 ? one : many}`;
}
