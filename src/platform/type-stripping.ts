/** Node 22 and 23 do so from these on, and later ones always. */
const SINCE: ReadonlyMap<number, number> = new Map([
  [22, 18],
  [23, 6],
]);

/** Whether this version of Node runs TypeScript, by leaving its types out. */
export function stripsTypes(nodeVersion: string): boolean {
  const [major = 0, minor = 0] = nodeVersion.split(".").map(Number);
  return major > 23 || minor >= (SINCE.get(major) ?? Number.POSITIVE_INFINITY);
}
