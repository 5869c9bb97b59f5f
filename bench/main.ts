import { GROUPS } from "./groups.ts";
import { Misuse } from "./misuse.ts";

const HELP = ["--help", "-h"];

const USAGE = `npm run bench -- [group ...]     measure these groups; without one, the usual ones
npm run bench -- GROUP --help    the options of a group that has some`;

const NOTE = `Times are for two quiet cores. * runs only by its name.
Figures are ratios to a floor measured in the same run, unless the group says otherwise.`;

process.exitCode = await bench(process.argv.slice(2));

/** The words before the first option are groups; the options go to the one group they follow. */
async function bench(args: readonly string[]): Promise<number> {
  const first = args.findIndex((arg) => arg.startsWith("-"));
  const names = args.slice(0, first < 0 ? args.length : first);
  const options = first < 0 ? [] : args.slice(first);
  try {
    if (options.some((option) => HELP.includes(option))) process.stdout.write(helpFor(names));
    else for (const group of chosen(names, options)) process.stdout.write(await group.run(options));
    return 0;
  } catch (error) {
    if (!(error instanceof Misuse)) throw error;
    console.error(`bench: ${error.message}`);
    return 2;
  }
}

function chosen(names: readonly string[], options: readonly string[]) {
  const groups = named(names);
  const takers = groups.filter((group) => group.options !== undefined);
  if (options.length > 0 && (groups.length > 1 || takers.length < 1)) {
    const known = GROUPS.filter((group) => group.options !== undefined).map(({ name }) => name);
    const who =
      known.length === 0 ? "no group has any" : `only these have any: ${known.join(", ")}`;
    throw new Misuse(`options such as ${options[0]} need one group to go to; ${who}.`);
  }
  return groups;
}

function named(names: readonly string[]) {
  const unknown = names.find((name) => !GROUPS.some((group) => group.name === name));
  if (unknown !== undefined) {
    const known = GROUPS.map(({ name }) => name).join(", ");
    throw new Misuse(
      `there is no group "${unknown}"; choose from: ${known} (none means the usual ones).`,
    );
  }
  return GROUPS.filter(({ name, isUsual }) =>
    names.length === 0 ? isUsual : names.includes(name),
  );
}

function helpFor(names: readonly string[]): string {
  const groups = named(names);
  const [only] = groups;
  if (groups.length === 1 && only?.options !== undefined) return only.options;
  const rows = GROUPS.map(({ name, takes, isUsual, about }) =>
    [`  ${name.padEnd(9)}`, takes.padEnd(8), isUsual ? " " : "*", about].join(" "),
  );
  return `${[USAGE, "", ...rows, "", NOTE].join("\n")}\n`;
}
