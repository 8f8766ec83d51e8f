/** The version of this program, the same as in package.json; a test compares them. */

export const version = "0.5.0";

/** Whether version `a` is later than version `b`, number by number. */
export function isLater(a: string, b: string): boolean {
  const [left, right] = [a, b].map((text) => text.split(/[.-]/).map(Number));
  const place = [0, 1, 2].find((at) => (left?.[at] ?? 0) !== (right?.[at] ?? 0));
  return place !== undefined && (left?.[place] ?? 0) > (right?.[place] ?? 0);
}
