import { askId, type Life, promptId, shellId, turnId } from "./life.fixture.ts";

export interface Situation {
  readonly life: Life;
  readonly pick: number;
  readonly odd: boolean;
  readonly step: number;
}

export function one<Item>(items: readonly [Item, ...Item[]], pick: number): Item {
  return items[pick % items.length] ?? items[0];
}

/** Nearly always the turn at work, sometimes one that never was. */
export function someTurn({ life, pick }: Situation) {
  return (pick % 9 > 0 && life.session?.running?.turnId) || turnId("t-unknown");
}

export function firstPrompt({ life, pick }: Situation) {
  return (pick % 9 > 0 && life.session?.queue[0]?.promptId) || promptId("p-unknown");
}

export function somePending({ life, pick }: Situation) {
  const { running = null, queue = [] } = life.session ?? {};
  const ids = [...queue, ...(running ? [running] : [])].map((prompt) => prompt.promptId);
  return ids[pick % (ids.length + 1)] ?? promptId("p-unknown");
}

export function someAsk({ life, pick }: Situation) {
  const open = life.session?.connection.turn.openAsks.keys() ?? [];
  const known = [...open, ...(life.session?.resolvedAsks.keys() ?? [])];
  return known[pick % (known.length + 1)] ?? askId("a-unknown");
}

export function someGrant({ session }: Life): string {
  return [...(session?.connection.sessionGrants.keys() ?? [])][0] ?? "edit:/a.ts";
}

export function someShell({ life, pick }: Situation) {
  return [...(life.session?.shells.keys() ?? [])][pick % 3] ?? shellId("sh-unknown");
}

export function someGuard(isStrict: boolean) {
  return { verdict: isStrict ? "deny" : "ask", extension: "guard-paths", reason: "no" } as const;
}
