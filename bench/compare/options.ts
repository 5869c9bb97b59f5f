import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Misuse } from "../misuse.ts";
import type { ServerAddress } from "../wire-client.ts";
import { GROUP_NAMES, type GroupName, isGroupName } from "./rows.ts";

export interface CompareOptions {
  readonly groups: readonly GroupName[];
  readonly isFermata: boolean;
  readonly isUpstream: boolean;
  readonly builds: readonly { readonly name: string; readonly root: string }[];
  readonly against: readonly { readonly name: string; readonly address: ServerAddress }[];
  /** Measure nothing, and show what the file has. */
  readonly isShow: boolean;
  readonly json: string | null;
  readonly isReport: boolean;
  readonly isDocs: boolean;
}

export const COMPARE_HELP = `npm run bench -- compare [options]

Measures Fermata, built from these sources, and with it every other server that an option names, in
one run with the same agent (bench/path-agent.ts) behind each, and prints them beside their goals
and beside a floor: the least that the work can cost on this machine.

--rows A,B              only these rows: ${GROUP_NAMES.join(" ")}
--upstream              also the control: qwen serve, installed once in node_modules/.cache, or in
                        the folder that FERMATA_AGENTS_CACHE names
--against NAME=URL      also a server that runs already; NAME= may be left out. Rows for which the
                        bench has to start it, or in which its agent has to be that of the bench
                        and is not, stay empty
--token-file NAME=FILE  that server wants the token in this file
--build NAME=FOLDER     also the build of another clone of Fermata
--no-fermata            not the one of these sources
--json FILE             keep what was measured in FILE; rows that are in it and were not measured
                        again stay, so that a run can be done in pieces
--show                  measure nothing: print what is in FILE
--report                write bench/report.html, with plots
--docs                  write the table of docs/benchmarks.md
`;

export function readCompareOptions(args: readonly string[]): CompareOptions {
  const { values } = parsed(args);
  const tokens = new Map(values["token-file"].map(pairOf).map(({ name, value }) => [name, value]));
  const against = values.against.map((text) => {
    const { name, value } = text.includes("=") ? pairOf(text) : { name: null, value: text };
    const url = URL.parse(value);
    if (url?.protocol !== "http:") {
      throw new Misuse(`--against wants http://HOST:PORT, and not "${value}".`);
    }
    const file = tokens.get(name ?? url.host);
    const token = file === undefined ? null : readFileSync(file, "utf8").trim();
    const address = {
      host: url.hostname.replaceAll(/[[\]]/g, ""),
      port: Number(url.port) || 80,
      token,
    };
    return { name: name ?? url.host, address };
  });
  if (values.show && values.json === undefined) throw new Misuse("--show wants --json FILE.");
  return {
    groups: values.rows === undefined ? GROUP_NAMES : groupsOf(values.rows),
    isFermata: values.fermata,
    isUpstream: values.upstream,
    builds: values.build.map(pairOf).map(({ name, value }) => ({ name, root: value })),
    against,
    isShow: values.show,
    json: values.json ?? null,
    isReport: values.report,
    isDocs: values.docs,
  };
}

function parsed(args: readonly string[]) {
  const many = { type: "string", multiple: true, default: [] as string[] } as const;
  const flag = { type: "boolean", default: false } as const;
  try {
    return parseArgs({
      args: [...args],
      allowNegative: true,
      options: {
        ...{ rows: { type: "string" }, json: { type: "string" } },
        ...{ against: many, "token-file": many, build: many },
        ...{ upstream: flag, show: flag, report: flag, docs: flag },
        fermata: { type: "boolean", default: true },
      },
    });
  } catch (error) {
    throw new Misuse(`${error instanceof Error ? error.message : error}`);
  }
}

function groupsOf(text: string): readonly GroupName[] {
  const names = text.split(",");
  const unknown = names.find((name) => !isGroupName(name));
  if (unknown !== undefined) {
    throw new Misuse(`there are no rows "${unknown}"; choose from: ${GROUP_NAMES.join(", ")}.`);
  }
  return GROUP_NAMES.filter((name) => names.includes(name));
}

function pairOf(text: string) {
  const at = text.indexOf("=");
  if (at < 1) throw new Misuse(`"${text}" wants a name, "=", and what it is the name of.`);
  return { name: text.slice(0, at), value: text.slice(at + 1) };
}
