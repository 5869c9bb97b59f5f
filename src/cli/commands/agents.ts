import { join } from "node:path";
import { startHost } from "../../agent/bridge/start.ts";
import { AgentMarks } from "../../agent/process/marks.ts";
import { adHocProfile } from "../../agent/profile/command-line.ts";
import { detect } from "../../agent/process/spawn.ts";
import { type AgentProfile, askingProfile } from "../../agent/profile/profile.ts";
import { errorBody, type Refusal } from "../../core/error.ts";
import { askingView } from "../../core/policy/asking.ts";
import { DONE } from "../../core/result.ts";
import { agentProfiles, homeOf } from "../home.ts";
import { askServer, isServerWish } from "./agents-server.ts";

const AGENTS_USAGE = `Usage: fermata agents [NAME or "COMMAND ARGUMENTS"]
       fermata agents ps | logs NAME | restart NAME | trace FILE
                      [--url URL] [--token TOKEN]

Without a name it lists the agents that Fermata knows, and which are installed.
With one it starts that agent, prints what it offers, and ends it again.

Your own agents are read from agents.json in ~/.fermata (or FERMATA_HOME); see
docs/agents.md.

Of a server that runs, for an owner of the tenant:
  ps             List the processes of its agents.
  logs NAME      Print what processes of an agent wrote to their error output.
  restart NAME   Give no more sessions to its processes: the unused end at once,
                 the others with their last session.
  trace FILE     Write every line to and from agents into FILE until Ctrl-C.

Options:
  --url URL      Where the server is (http://127.0.0.1:4170, or FERMATA_URL).
  --token TOKEN  Who asks (FERMATA_TOKEN).
`;

export async function agents(args: readonly string[]): Promise<number> {
  const [wanted, unknown] = args;
  if (wanted === "--help" || wanted === "-h") {
    process.stdout.write(AGENTS_USAGE);
    return 0;
  }
  if (isServerWish(wanted)) return askServer(args);
  if (unknown !== undefined || wanted?.startsWith("-")) {
    console.error('fermata: agents takes one name; run "fermata agents --help" to see more.');
    return 2;
  }
  const home = homeOf(process.env);
  const profiles = await agentProfiles(home);
  if (!profiles.ok) return told(profiles.refusal);
  if (wanted === undefined) return list(profiles.value);
  const known = profiles.value.get(wanted);
  if (known !== undefined) return tryOut(known, home);
  if (!/[\s/]/.test(wanted)) {
    const names = [...profiles.value.keys()].join(", ");
    return told({ code: "agent_unknown", details: { profile: wanted, known: names } });
  }
  const adHoc = adHocProfile(wanted);
  return adHoc.ok ? tryOut(adHoc.value, home) : told(adHoc.refusal);
}

async function list(profiles: ReadonlyMap<string, AgentProfile>): Promise<number> {
  const detected = await detect(profiles.values(), process.env);
  const width = Math.max(...detected.map(({ profile }) => profile.name.length));
  const lines = detected.map(({ profile, path }) => {
    const name = profile.name.padEnd(width);
    const doubt = profile.ask.asks === "unknown" ? "; not known to ask" : "";
    if (path !== null) return `  ${name}  installed  ${profile.title}${doubt}`;
    return `  ${name}  missing    ${profile.install ?? `no program "${profile.command}"`}`;
  });
  process.stdout.write(`${lines.join("\n")}\n\nTo try one: fermata agents echo\n`);
  return 0;
}

async function tryOut(profile: AgentProfile, home: string): Promise<number> {
  const startedMs = performance.now();
  const marks = new AgentMarks(join(home, "running-agents"));
  const asking = askingProfile(profile);
  const order = { profile: asking, cwd: process.cwd(), marks, env: process.env };
  const started = await startHost(order, { fault: () => {}, secret: () => DONE });
  if (!started.ok) return told(started.refusal);
  const { abilities } = started.value;
  const tookMs = Math.round(performance.now() - startedMs);
  await started.value.end();
  const { name, version, load, resume, close, list: lists, fork, systemPrompt } = abilities;
  const offers = { load, resume, close, list: lists, fork, "system prompt": systemPrompt };
  const can = Object.entries(offers).filter(([, does]) => does);
  const cannot = Object.entries(offers).filter(([, does]) => !does);
  process.stdout.write(
    `${[
      `${name ?? profile.title}${version === null ? "" : ` ${version}`} answered in ${tookMs} ms.`,
      `  offers:          ${namesOf(can)}`,
      `  does not offer:  ${namesOf(cannot)}`,
      `  ways to sign in: ${abilities.authMethods.join(", ") || "none needed"}`,
      ...(profile.signIn === null ? [] : [`  to sign in:      ${profile.signIn}`]),
      `  asking:          ${askingSentence(profile)}`,
      `  MCP tools:       ${MCP_SENTENCES[profile.mcp]}`,
      ...(profile.home === null ? [] : [`  its home:        where ${profile.home} says`]),
      ...(profile.withhold.length === 0
        ? []
        : [`  withheld:        ${profile.withhold.join(", ")}`]),
    ].join("\n")}\n`,
  );
  return 0;
}

/** As a session tells it that nobody has set to anything else. */
function askingSentence({ ask }: AgentProfile): string {
  const known = { chosen: null, observed: null, offered: null, options: null };
  return askingView(ask, "ask", known).sentence;
}

const MCP_SENTENCES: Readonly<Record<AgentProfile["mcp"], string>> = {
  offered: "its model is offered those of the session's servers",
  withheld: "it is told of the session's servers, and its model does not see their tools at once",
  unknown: "not known",
};

function namesOf(entries: readonly (readonly [string, boolean])[]): string {
  return entries.map(([name]) => name).join(", ") || "nothing";
}

function told(refusal: Refusal): number {
  console.error(`fermata: ${errorBody(refusal).error}`);
  return 1;
}
