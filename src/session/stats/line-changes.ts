export interface LineChanges {
  readonly added: number;
  readonly removed: number;
}

/**
 * How many lines an edit brought and took. Lines are compared as a bag and not in their order: a
 * line that moved has neither come nor gone, and a large file costs no more than its length.
 */
export function lineChanges(before: string | null, after: string): LineChanges {
  const old = linesOf(before ?? "");
  const fresh = linesOf(after);
  const left = new Map<string, number>();
  for (const line of old) left.set(line, (left.get(line) ?? 0) + 1);
  let kept = 0;
  for (const line of fresh) {
    const count = left.get(line) ?? 0;
    if (count === 0) continue;
    left.set(line, count - 1);
    kept += 1;
  }
  return { added: fresh.length - kept, removed: old.length - kept };
}

function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}
