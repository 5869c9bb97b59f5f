import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import type { AgentUpdate } from "../../core/agent-update.ts";
import { parseSessionId, parseTenantId, type TenantId, type TurnId } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Access } from "../../core/policy/access.ts";
import { selected } from "../../core/policy/ask.ts";
import { DONE, ok, type Result } from "../../core/result.ts";
import type { AgentStatusReport } from "../../core/session/command.ts";
import type { UsageSuspicion } from "../../core/session/credit-event.ts";
import { type ModelChange, settingsOfModel } from "../../core/session/state.ts";
import type { ContextUsage } from "../../core/turn.ts";
import type {
  AccessDecision,
  AgentAsk,
  AgentListener,
  AgentPast,
  AgentSession,
  AskAnswer,
  ConnectRequest,
  TakenMessage,
} from "../agent.ts";
import { type Credentials, NO_CREDENTIALS } from "../credential/credentials.ts";
import type { FaultKind } from "../fault.ts";
import { AgentPool } from "../pool/pool.ts";
import { AgentMarks } from "../process/marks.ts";
import { KNOWN_PROFILES } from "../profile/known.ts";
import { type AgentProfile, profileOf } from "../profile/profile.ts";
import { startHost } from "./start.ts";

/** Sources take a while to be made ready for Node; once is enough for all of them. */
const COMPILED = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL("../../../node_modules/.cache/node", import.meta.url)),
};

const ODD_AGENT = fileURLToPath(new URL("odd-agent.fixture.ts", import.meta.url));

/** A folder, a pool of real agent processes over it, and ears. */
export class Stage {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "fermata-bridge-")));
  readonly profiles = new Map<string, AgentProfile>();
  readonly faults: { readonly kind: FaultKind; readonly count: number }[] = [];
  readonly samples: string[] = [];
  readonly secrets: string[] = [];
  readonly goneSecrets: string[] = [];
  readonly env: NodeJS.ProcessEnv = { PATH: process.env.PATH };
  readonly pool: AgentPool;
  readonly #marks = new AgentMarks(join(this.folder, "marks"));
  /** Null for those of the server. */
  credentials: Credentials | null = null;
  roots: readonly string[] = [];
  nowMs = 0;
  starts = 0;
  /** Why a process is not started; null if it is. */
  beforeStart: () => Promise<Result<never> | null> = async () => null;

  constructor(memoryBytesMax: number | null = null, processesMax?: number) {
    this.pool = new AgentPool({
      profiles: this.profiles,
      ...(processesMax !== undefined && { processesMax }),
      start: async ({ profile, workspace: cwd, credentials }, signal) => {
        this.starts += 1;
        const refused = await this.beforeStart();
        if (refused !== null) return refused;
        const fault = (kind: FaultKind, count: number, sample: string) => {
          this.faults.push({ kind, count });
          this.samples.push(sample);
        };
        const secret = (value: string) => {
          this.secrets.push(value);
          return DONE;
        };
        const secretGone = (value: string) => void this.goneSecrets.push(value);
        const { env, roots } = this;
        const order = { profile, cwd, marks: this.#marks, env, credentials, roots };
        return startHost(order, { fault, secret, secretGone }, signal);
      },
      credentials: {
        of: async (...whose) => (await this.credentials?.of(...whose)) ?? ok(NO_CREDENTIALS),
        forget: async () => true,
      },
      memoryBytesMax,
      nowMs: () => this.nowMs,
    });
    onTestFinished(async () => {
      await this.pool.shutdown();
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  /** The notes of processes that may be alive. */
  marks(): readonly string[] {
    const folder = join(this.folder, "marks");
    return existsSync(folder) ? readdirSync(folder) : [];
  }

  /** `echo` with these flags, under this name. */
  echo(flags: readonly string[] = [], change: Partial<AgentProfile> = {}, name = "echo"): string {
    const known = KNOWN_PROFILES.find((profile) => profile.name === "echo");
    if (known === undefined) expect.fail("there is no echo");
    const args = [...known.args, ...flags];
    const env = { ...COMPILED, ...change.env };
    this.profiles.set(name, profileOf({ ...known, ...change, args, env, name }));
    return name;
  }

  command(command: string, args: readonly string[] = [], change: Partial<AgentProfile> = {}) {
    this.profiles.set("other", profileOf({ name: "other", command, args, ...change }));
    return "other";
  }

  /** An agent that is odd in one way. */
  odd(how: string, change: Partial<AgentProfile> = {}): string {
    const env = { ...COMPILED, ...change.env };
    return this.command(process.execPath, [ODD_AGENT, how], { ...change, env });
  }

  order(profile: string, change: Partial<ConnectRequest> = {}): ConnectRequest {
    return {
      tenantId: tenant("acme"),
      userId: null,
      owner: parseSessionId("ada") ?? expect.fail(),
      profile,
      asks: true,
      workspace: this.folder,
      cwd: this.folder,
      mcpServers: [],
      systemPrompt: null,
      past: null,
      ...change,
    };
  }

  connect(
    profile: string,
    change: Partial<ConnectRequest> = {},
    ears = new Ears(),
    signal = new AbortController().signal,
  ): Promise<Result<AgentSession>> {
    return this.pool.connect(this.order(profile, change), ears, signal);
  }

  async connected(profile: string, change: Partial<ConnectRequest> = {}): Promise<Hand> {
    const ears = new Ears();
    const connected = await this.connect(profile, change, ears);
    if (!connected.ok) expect.fail(JSON.stringify(connected.refusal));
    return new Hand(connected.value, ears);
  }

  /** The code and the words of a connection that must not come about. */
  async refused(profile: string, change: Partial<ConnectRequest> = {}) {
    const connected = await this.connect(profile, change);
    return connected.ok ? expect.fail("it was connected") : connected.refusal;
  }
}

export function tenant(name: string): TenantId {
  return parseTenantId(name) ?? expect.fail(name);
}

/** A conversation that took place before. */
export function pastOf(agentSessionId: string | null, ...texts: readonly string[]): AgentPast {
  return {
    agentSessionId,
    async *messages() {
      for (const [index, text] of texts.toReversed().entries()) {
        yield { role: (texts.length - index) % 2 === 1 ? "user" : "agent", text };
      }
    },
  };
}

/** Hears everything, in order, and answers asks as it was told to. */
export class Ears implements AgentListener {
  readonly statuses: AgentStatusReport[] = [];
  readonly updates: AgentUpdate[] = [];
  readonly usages: ContextUsage[] = [];
  readonly suspicions: UsageSuspicion[] = [];
  readonly asks: AgentAsk[] = [];
  readonly audits: { readonly act: string; readonly details: JsonObject }[] = [];
  readonly exits: { readonly exitCode: number | null; readonly message: string }[] = [];
  answer: (ask: AgentAsk, signal: AbortSignal) => Promise<AskAnswer> = async ({ options }) => {
    return { outcome: selected(options[0]?.optionId ?? "") };
  };
  readonly accesses: Access[] = [];
  permit: (access: Access, signal: AbortSignal) => Promise<AccessDecision> = async () => {
    return { allowed: true, reason: "" };
  };
  messages: readonly TakenMessage[] = [];
  slowly: (() => Promise<void>) | null = null;
  #waiting: (() => void)[] = [];

  connected({ agentSessionId, context }: AgentSession) {
    this.status({ status: "connected", agentSessionId, context });
  }

  status(report: AgentStatusReport) {
    this.statuses.push(report);
    this.#wake();
  }

  update(update: AgentUpdate): Promise<void> | undefined {
    this.updates.push(update);
    this.#wake();
    return this.slowly?.();
  }

  usage(_turnId: TurnId, usage: ContextUsage) {
    this.usages.push(usage);
    this.#wake();
  }

  usageSuspect(suspicion: UsageSuspicion) {
    this.suspicions.push(suspicion);
  }

  ask(ask: AgentAsk, signal: AbortSignal): Promise<AskAnswer> {
    this.asks.push(ask);
    this.#wake();
    return this.answer(ask, signal);
  }

  exit(exit: { readonly exitCode: number | null; readonly message: string }) {
    this.exits.push(exit);
    this.#wake();
  }

  async access(access: Access, signal: AbortSignal): Promise<AccessDecision> {
    this.accesses.push(access);
    this.#wake();
    return this.permit(access, signal);
  }

  async takeMessages(): Promise<readonly TakenMessage[]> {
    return this.messages;
  }

  hasQueuedPrompt(): boolean {
    return false;
  }

  async audit(act: string, details: JsonObject): Promise<void> {
    this.audits.push({ act, details });
  }

  /** All that the agent said in words. */
  get text(): string {
    const words = this.updates.filter((update) => update.sessionUpdate === "agent_message_chunk");
    return words.map(({ content }) => Object(content).text ?? "").join("");
  }

  /** Waits until something is so that was heard of. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise<void>((wake) => this.#waiting.push(wake));
  }

  #wake() {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}

/** A session at its agent, with what was heard of it. */
export class Hand {
  readonly session: AgentSession;
  readonly ears: Ears;
  #turns = 0;

  constructor(session: AgentSession, ears: Ears) {
    this.session = session;
    this.ears = ears;
  }

  /** A fresh one. */
  turnId(): TurnId {
    this.#turns += 1;
    return `turn-${this.#turns}` as TurnId;
  }

  /** Begins a turn, without waiting for anything. */
  begin(...script: readonly string[]): TurnId {
    const turnId = this.turnId();
    const content = [{ type: "text", text: script.join("\n") }];
    const prompted = this.session.prompt({ turnId, content, params: null });
    return prompted.ok ? turnId : expect.fail(JSON.stringify(prompted.refusal));
  }

  /** A whole turn: its verdict, and what the agent said in it. */
  async turn(...script: readonly string[]) {
    const before = this.ears.text.length;
    const turnId = this.begin(...script);
    const verdict = await this.verdict(turnId);
    return { verdict, text: this.ears.text.slice(before) };
  }

  async verdict(turnId: TurnId) {
    const isVerdict = (report: AgentStatusReport) =>
      (report.status === "turn_complete" || report.status === "turn_error") &&
      report.turnId === turnId;
    const { ears } = this;
    await ears.until(() => ears.statuses.some(isVerdict) || ears.exits.length > 0);
    return ears.statuses.find(isVerdict) ?? null;
  }

  /** Says `ok`, or what was not taken and the code of why. */
  async setModel(change: ModelChange): Promise<string> {
    const refused = await this.session.setModelConfig(settingsOfModel(change));
    return refused === null ? "ok" : `${refused.part.setting} ${refused.refusal.code}`;
  }

  get kinds(): readonly string[] {
    return this.ears.statuses.map(({ status }) => status);
  }
}

export { codeOf } from "../result.fixture.ts";
