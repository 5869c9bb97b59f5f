import { detect } from "../../agent/process/spawn.ts";
import type { AgentProfile } from "../../agent/profile/profile.ts";
import { unknownAgent } from "../../core/agent-name.ts";
import { errorBody, sentenceOf } from "../../core/error.ts";
import type { PriceTable } from "../../session/meter/index.ts";
import { unknownWord } from "../command-line.ts";
import { agentProfiles, homeOf, messageOf } from "../home.ts";
import { tableText } from "../output.ts";
import { parseRow } from "../parse-row.ts";
import { readPriceFile } from "../serve/operator-files.ts";
import { readServeOptions } from "../serve/read-options.ts";
import { PRICES } from "../table/people.ts";
import { type AgentsQuery, agentStartArgs, readAgentsQuery } from "./agent-secrets.ts";
import { type OfferedModels, offeredModels } from "./agent-trial.ts";

interface PricesRequest {
  readonly agents: readonly string[];
  readonly prices: string | null;
  readonly isJson: boolean;
  /** How agents are started for a check; null without one. */
  readonly query: AgentsQuery | null;
}

export async function prices(args: readonly string[]): Promise<number> {
  const request = await readRequest(args);
  if (typeof request === "string") {
    console.error(`fermata: prices: ${request}; see "fermata prices --help".`);
    return 2;
  }
  const profiles = await agentProfiles(homeOf(process.env));
  if (!profiles.ok) return failed(String(errorBody(profiles.refusal).error));
  const table = await readPriceFile(request.prices, profiles.value);
  if (!table.ok) return failed(sentenceOf(table.refusal));
  if (request.query === null) return show(table.value, request);
  return check(table.value, profiles.value, request, request.query);
}

/** A text is the reason why the command line is wrong. */
async function readRequest(args: readonly string[]): Promise<PricesRequest | string> {
  try {
    const { values, positionals } = parseRow(PRICES, args);
    const [word, ...agents] = positionals;
    if (word !== undefined && word !== "check") return unknownWord(word, ["check"]);
    const served = await readServeOptions([], process.env);
    if (!served.ok) return sentenceOf(served.refusal);
    const start = agentStartArgs(values);
    const query = word === "check" ? await readAgentsQuery(start, process.env) : null;
    if (typeof query === "string") return query;
    if (query === null && start.length > 0) return `${start[0]?.split("=")[0]} is for "check"`;
    const file = values.prices ?? served.value.prices;
    return { agents, prices: file, isJson: values.json === true, query };
  } catch (thrown) {
    return messageOf(thrown);
  }
}

function show(table: PriceTable, { isJson }: PricesRequest): number {
  const rows = table.rows();
  if (isJson) return print(JSON.stringify({ v: 1, origin: table.origin, rows }, null, 2));
  const headings = ["MODEL", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "PER TURN", "FROM"];
  const lines = rows.map(({ row, of, price, isOwn }) => {
    const { input, output, cachedRead, cachedWrite, perTurn } = price;
    const amounts = [input, output, cachedRead, cachedWrite, perTurn].map(creditsText);
    return [of === "agents" ? `agent ${row}` : row, ...amounts, isOwn ? "your file" : "default"];
  });
  return print(`${tableText(headings, lines)}\n\nCredits per million tokens. ${table.origin}.`);
}

/** One model of an agent, and the price that it meets. */
interface Checked {
  readonly agent: string;
  /** Null where the agent names none. */
  readonly model: string | null;
  /** Null where there is none. */
  readonly row: string | null;
  readonly isOwn: boolean;
  /** Why the agent could not be asked. */
  readonly failure: string | null;
}

async function check(
  table: PriceTable,
  profiles: ReadonlyMap<string, AgentProfile>,
  { agents, isJson }: PricesRequest,
  query: AgentsQuery,
): Promise<number> {
  const unknown = agents.find((name) => !profiles.has(name));
  if (unknown !== undefined) {
    return failed(sentenceOf(unknownAgent(unknown, profiles.keys()).refusal));
  }
  const wanted = agents.flatMap((name) => profiles.get(name) ?? []);
  const found = await detect(agents.length === 0 ? profiles.values() : wanted, process.env);
  const checked: Checked[] = [];
  const home = homeOf(process.env);
  // One at a time: an agent may take half a gigabyte.
  for (const { profile, path } of found) {
    if (path === null && agents.length === 0) continue;
    checked.push(...rowsOf(table, profile.name, await offeredModels(profile, home, query)));
  }
  const isMissing = checked.some(({ row }) => row === null);
  if (isJson) print(JSON.stringify({ v: 1, origin: table.origin, models: checked }, null, 2));
  else print(checkText(checked, table.origin));
  return isMissing ? 1 : 0;
}

function rowsOf(table: PriceTable, agent: string, offered: OfferedModels): readonly Checked[] {
  const { failure } = offered;
  return offered.models.map((model) => {
    const found = table.find(agent, model);
    return { agent, model, row: found?.row ?? null, isOwn: found?.isOwn ?? false, failure };
  });
}

function checkText(checked: readonly Checked[], origin: string): string {
  const lines = checked.map(({ agent, model, row, isOwn, failure }) => {
    const from = row === null ? "-" : isOwn ? "your file" : "default";
    const named = model ?? (failure === null ? "(names none)" : "(not asked)");
    return [agent, named, row ?? "NO PRICE", from];
  });
  const table = tableText(["AGENT", "MODEL", "PRICE", "FROM"], lines);
  const failures = checked.flatMap(({ agent, failure }) =>
    failure === null ? [] : [`${agent} could not be asked: ${failure}`],
  );
  const isMissing = checked.some(({ row }) => row === null);
  const advice = isMissing
    ? ["Add a row for what has no price to your --prices FILE: a model, a pattern, or the agent."]
    : [];
  return [table, "", ...failures, ...advice, `Prices: ${origin}.`].join("\n");
}

/** As people write prices: 1.25 for 1,250,000 micro-credits. */
function creditsText(micro: number): string {
  return String(micro / 1_000_000);
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

function failed(reason: string): number {
  console.error(`fermata: prices: ${reason}`);
  return 1;
}
