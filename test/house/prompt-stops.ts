/** A stop of a prompt, as the table "One prompt" of docs/ARCHITECTURE.md names it. */
export interface PromptStop {
  readonly number: number;
  /** Below `src`. */
  readonly path: string;
  readonly name: string;
}

export function promptStops(text: string): readonly PromptStop[] {
  const section = text.slice(text.indexOf("## One prompt"));
  const rows = section.matchAll(/^\| (\d+) \| `([^`]+)` `([^`]+)` \|/gm);
  return [...rows].map(([, number, path = "", name = ""]) => {
    return { number: Number(number), path, name };
  });
}
