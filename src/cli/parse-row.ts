import type { parseArgs } from "node:util";
import { readCommandLine } from "./command-line.ts";
import { HELP_OPTION, type OptionRow } from "./table/row.ts";

/** A row, as far as a command line is read by it. */
interface ReadRow {
  readonly options: Readonly<Record<string, OptionRow>>;
}

/** The values of a row's options. */
export type RowValues<Row extends ReadRow> = ReturnType<
  typeof parseArgs<{ options: Row["options"] & typeof HELP_OPTION }>
>["values"];

/** What was given for the options of a row, and the words. Throws a clause for people. */
export function parseRow<Row extends ReadRow>({ options }: Row, args: readonly string[]) {
  const all = { ...options, ...HELP_OPTION };
  const { values, positionals } = readCommandLine({ args, options: all, allowPositionals: true });
  // The compiler does not see through a row that is not known yet.
  return { values: values as RowValues<Row>, positionals };
}

/** Whether a command is only asked how it is used: then it need not be there. */
export function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  const options = end < 0 ? args : args.slice(0, end);
  return options.some((word) => word === "--help" || word === "-h");
}
