import fc from "fast-check";
import { tooPoor } from "../ledger.ts";
import { ROLES } from "../permission.ts";
import type { Access } from "../policy/access.ts";
import { MEDIATION_POLICIES } from "../policy/ask.ts";
import type { Bound } from "../policy/bound.ts";
import { ceilingOf, DEFAULT_POLICY } from "../policy/ceiling.ts";
import { APPROVAL_MODES, AUTONOMY_PROFILES } from "../policy/risk.ts";
import { NO_TOKENS } from "../price.ts";
import { AGENT_STATUSES, type AgentStatus, type SessionState } from "../status.ts";
import { SANDBOX_STATES } from "../turn.ts";
import { ADMISSION, COMMAND_TYPES } from "./admission.ts";
import { CHILD_COMMANDS, someAsker, someChild } from "./child.fixture.ts";
import type { Actor, AgentStatusReport, Command, CommandData, CommandType } from "./command.ts";
import type { AgentContext } from "./event.ts";
import {
  askId,
  CREATION,
  client,
  clientId,
  type Life,
  newAsk,
  newPrompt,
  SERVER,
  sessionId,
  sessionName,
  shellId,
  turnId,
  userId,
} from "./life.fixture.ts";
import { STOP_REASONS } from "./reason.ts";
import {
  firstPrompt,
  one,
  type Situation,
  someAsk,
  someGrant,
  someGuard,
  somePending,
  someShell,
  someTurn,
} from "./situation.fixture.ts";
import { isMessage, type ModelChange, type SlashWork } from "./state.ts";
import { someRuling, WORKFLOW_COMMANDS } from "./workflow.fixture.ts";

/** A command in outline: what it names is picked only when the session it meets is known. */
interface Intent {
  readonly type: CommandType | "sensible";
  readonly pick: number;
  readonly odd: boolean;
}

/** What would be expected next in each state; without these a random life gets nowhere. */
const SENSIBLE: Readonly<Record<SessionState, readonly [CommandType, ...CommandType[]]>> = {
  inactive: ["activate", "activate", "prompt", "resume", "attach"],
  activating: ["agent_status"],
  ready: ["prompt", "begin_turn", "begin_turn", "attach"],
  running: [
    "agent_update",
    "agent_update",
    "ask",
    "ask",
    "access",
    "usage",
    "start_child",
    "start_child",
    "child_update",
    "child_usage",
    "child_ended",
    "steer",
    "take_messages",
    "cancel",
    "revoke_grant",
    "revoke_grant",
    "agent_status",
  ],
  waiting: ["vote", "vote", "vote", "ask", "voter_gone", "access", "agent_status"],
  deactivating: ["agent_status"],
  error: ["activate", "prompt"],
};

const EXPECTED: Readonly<Record<SessionState, AgentStatus>> = {
  inactive: "terminated",
  activating: "connected",
  ready: "connected",
  running: "turn_complete",
  waiting: "turn_complete",
  deactivating: "terminated",
  error: "created",
};

const intent: fc.Arbitrary<Intent> = fc.record({
  type: fc.oneof(
    { arbitrary: fc.constant("sensible" as const), weight: 2 },
    { arbitrary: fc.constantFrom(...COMMAND_TYPES), weight: 1 },
  ),
  pick: fc.nat(10_000),
  odd: fc.boolean(),
});

/** What may happen to a session, in any order and from any side, sensible or not. */
export const anything = fc.array(intent, { minLength: 1, maxLength: 120, size: "max" });

/** The command that an intent comes to, for this session and at this step of its life. */
export function commandFor(life: Life, intent: Intent, step: number): Command {
  const { pick, odd } = intent;
  const type = intent.type === "sensible" ? one(SENSIBLE[life.state], pick) : intent.type;
  const data = COMMANDS[type]({ life, pick, odd, step });
  const actor = pick % 11 === 0 ? one(ACTORS, pick >> 3) : usualCaller(life, type, pick);
  const bound = pick % 3 === 0 ? { bound: someBound(pick, odd) } : {};
  return { type, atMs: step * 1_000, actor, ...data, ...bound } as Command;
}

/** A tenant's policy that is careful, or is not, and may leave no other user to decide. */
function someBound(pick: number, odd: boolean): Bound {
  const role = one(ROLES, pick >> 2);
  const ceiling = ceilingOf(DEFAULT_POLICY, role);
  const models = odd ? "any" : ["large"];
  const others = { voters: pick % 2 === 0, owners: pick % 4 === 0 };
  return {
    ceiling: { ...ceiling, models, selfApproval: pick % 5 > 1 },
    authority: { role, isMember: odd },
    anyone: others,
    others,
  };
}

const ADA = { ...client("c2"), userId: userId("ada") } as const;
const CLIENTS = [client(null), client("c1"), ADA] as const;
const ACTORS = [SERVER, { kind: "agent", activation: 0 }, ...CLIENTS] as const;

/** The usual caller of such a command, and now and then another one. */
function usualCaller(life: Life, type: CommandType, pick: number): Actor {
  const { caller } = ADMISSION[type];
  if (caller === "server") return SERVER;
  const activation = life.session?.activation ?? 0;
  return caller === "agent" ? { kind: "agent", activation } : one(CLIENTS, pick >> 2);
}

/** A new command does not compile until the properties are tried on it as well. */
const COMMANDS: { readonly [Type in CommandType]: (at: Situation) => CommandData[Type] } = {
  create: () => ({ sessionId: sessionId("s"), creation: CREATION }),
  resume: ({ odd }) => ({ skipped: odd ? [{ name: "git", reason: "missing" }] : [] }),
  stop: ({ pick }) => ({ reason: one(STOP_REASONS, pick) }),
  close: () => ({}),
  recovery: () => ({}),
  store_failure: () => ({}),

  activate: ({ odd }) => (odd ? { skipped: [{ name: "git", reason: "missing" }] } : {}),
  agent_status: agentStatus,
  agent_exit: ({ odd }) => ({ exitCode: odd ? 1 : null, signalCode: null, message: "gone" }),
  agent_unavailable: () => ({ message: "" }),
  agent_offer: ({ odd }) => ({ offer: odd ? null : "abc" }),
  instructed: ({ odd, pick }) => ({
    via: odd ? "system_prompt" : "context_block",
    text: "Be kind.",
    skills: `${pick % 3}`,
    persona: `${pick % 2}`,
  }),
  agent_update: agentUpdate,
  usage: (at) => ({
    turnId: someTurn(at),
    usage: {
      model: at.odd ? "large" : null,
      used: at.pick,
      size: null,
      tokens: { ...NO_TOKENS, input: at.pick, output: at.pick % 5 === 0 ? -1 : 7 },
      ...(at.pick % 3 === 0 && { figures: at.odd ? "none" : "partial" }),
      ...(at.pick % 4 === 0 && { costMicro: at.pick % 8 === 0 ? -at.pick : at.pick * 1_000 }),
      ...(at.pick % 7 === 0 && { decidedBy: "cost" }),
    },
    ...(at.pick % 6 === 0 && { price: { ...NO_TOKENS, input: 9_000_000, perTurn: at.pick } }),
  }),

  prompt: (at) => ({
    ...somePrompt(at),
    ...(at.odd && { start: someStart(at) }),
    ...(at.pick % 3 === 0 && { name: sessionName("by-words") }),
    ...(at.pick % 11 === 0 && { unpaid: tooPoor(at.pick, 0) }),
  }),
  begin_turn: (at) => ({ promptId: firstPrompt(at), start: someStart(at) }),
  command_result: (at) => ({
    promptId: firstPrompt(at),
    result: { status: "ok", code: at.odd ? "skills_listed" : "unknown_command", message: "text" },
    ...someEffect(at),
  }),
  remove_prompt: (at) => ({ promptId: somePending(at) }),
  refuse_prompt: (at) => ({ promptId: firstPrompt(at), why: tooPoor(at.pick, 0) }),
  take_messages: ({ life, pick }) => {
    const waiting = life.session?.queue.filter(isMessage) ?? [];
    return { promptIds: waiting.slice(0, 1 + (pick % 3)).map(({ promptId }) => promptId) };
  },
  steer: (at) => ({
    messageId: `m${at.pick % 3}`,
    prompt: somePrompt(at),
    agentCanSteer: at.odd,
    ...(at.pick % 11 === 0 && { unpaid: tooPoor(at.pick, 0) }),
  }),
  cancel: () => ({}),
  reserve_slice: (at) => ({
    turnId: someTurn(at),
    n: at.life.session?.connection.turn.currentReservation?.slices ?? 0,
    amountMicro: at.odd ? at.pick : at.pick - 5_000,
  }),
  deadline_passed: (at) => ({ deadline: someDeadline(at) }),
  limit_passed: (at) => ({ turnId: someTurn(at), limit: at.odd ? "budget" : "turn_too_large" }),
  commit_refused: (at) => ({ turnId: someTurn(at) }),

  ...CHILD_COMMANDS,
  ...WORKFLOW_COMMANDS,

  ask: (at) =>
    newAsk(`a${at.step}`, {
      ...someAsker(at),
      kind: Math.floor(at.pick / 5) % 5 === 0 ? "user_question" : "permission",
      policy: one(MEDIATION_POLICIES, at.pick),
      present: [clientId("c1"), clientId("c2")],
      workflow: one([null, null, "approve", "deny", "defer"], at.pick),
      ...(at.pick % 11 === 0 && { guard: someGuard(at.odd) }),
      options: at.odd ? newAsk("a").options : at.pick % 7 === 0 ? [] : newAsk("a").options,
    }),
  access: ({ step, pick, odd, life }) => ({
    requestId: askId(`x${step}`),
    ...someAsker({ step, pick, odd, life }),
    ...(pick % 11 === 0 && { guard: someGuard(odd) }),
    access: one<Access>(
      [
        { action: "terminal", command: odd ? "ls" : "rm a", cwd: "/w" },
        { action: "write", path: odd ? "/a.ts" : "/w/b.ts" },
        { action: "read", path: "/w/c.ts" },
      ],
      pick,
    ),
    policy: one(MEDIATION_POLICIES, pick),
    quorum: null,
    present: [clientId("c1"), clientId("c2")],
    deadlineAtMs: null,
  }),
  ask_withdrawn: (at) => ({
    requestId: someAsk(at),
    reason: at.odd ? "withdrawn" : "agent_gone",
  }),
  vote: (at) => ({
    requestId: someAsk(at),
    outcome: one(
      [
        { outcome: "selected", optionId: "yes" },
        { outcome: "selected", optionId: "always" },
        { outcome: "selected", optionId: "never heard of" },
        { outcome: "cancelled" },
      ],
      at.pick,
    ),
  }),
  voter_gone: ({ odd, pick }) => ({
    userId: userId(odd ? "ada" : "bob"),
    quorum: one([null, 1, 2], pick),
  }),
  revoke_grant: ({ odd, pick, life }) => ({
    key: odd ? someGrant(life) : one([null, ""], pick),
  }),

  metadata: ({ odd, pick }) => ({
    ...(pick % 3 !== 0 && { displayName: odd ? `name ${pick % 3}` : "\u0000" }),
    ...(pick % 2 === 0 && { name: sessionName(`name-${pick % 4}`) }),
  }),
  model: someModel,
  approval_mode: ({ pick }) => ({ mode: one(APPROVAL_MODES, pick), persisted: false }),
  autonomy: ({ pick }) => ({ profile: one(AUTONOMY_PROFILES, pick) }),
  agent_mode: ({ pick }) => ({ mode: one([null, "plan", "code"], pick) }),
  agent_option: ({ odd, pick }) => {
    return { configId: `option-${pick % 3}`, value: odd, category: odd ? null : "model_config" };
  },
  sandbox: ({ pick }) => ({ state: one(SANDBOX_STATES, pick) }),
  reload_skills: ({ pick }) => ({ hash: `${pick}`, difference: "" }),
  reload_persona: ({ pick }) => ({ hash: `${pick}`, difference: "" }),
  change_agent: ({ odd }) => ({ to: odd ? "echo" : "chat" }),
  change_cwd: ({ odd, pick }) => ({ to: odd ? `/workspace/${pick % 2}` : "/elsewhere" }),
  set_budget: ({ odd, pick }) => ({
    budgetMicro: odd ? pick : null,
    ...(pick % 2 === 0 && { period: "month" }),
  }),
  visibility: ({ odd }) => ({ visibility: odd ? "private" : "tenant", sharedWith: [] }),

  attach: ({ odd }) => ({ clientId: clientId(odd ? "c1" : "c2"), idle: [] }),
  detach: ({ odd }) => ({ clientId: clientId(odd ? "c1" : "c2") }),
  client_expiry: ({ odd }) => ({ clientId: clientId(odd ? "c1" : "c2") }),
  shell_started: ({ step, pick }) => ({
    shellId: shellId(`sh${step}`),
    command: "ls",
    cwd: "/workspace",
    idempotency: pick % 4 === 0 ? { key: `k${pick % 3}`, hash: `${pick % 2}` } : null,
  }),
  shell_output: (at) => ({ shellId: someShell(at), output: `line ${at.pick}\n` }),
  shell_result: (at) => ({
    shellId: someShell(at),
    command: "ls",
    exitCode: at.odd ? 0 : null,
    signal: null,
    aborted: !at.odd,
    output: "a.ts\n",
  }),

  announce: () => ({ announcement: { type: "secret_redacted", data: { where: "event" } } }),
};

function someModel({ odd, pick }: Situation): CommandData["model"] {
  const modelId = `model-${pick % 3}`;
  const temperature = pick % 2;
  const both = { modelId, temperature };
  if (odd) return { change: one<ModelChange>([{ modelId }, { temperature }, both], pick) };
  const reason = "no such thing";
  return pick % 2 === 0
    ? { failure: { setting: "modelId", value: modelId, reason } }
    : { failure: { setting: "reasoning", value: "deep", reason } };
}

/** What a command does beside its answer; mostly nothing. */
function someEffect({ pick, odd }: Situation): Pick<CommandData["command_result"], "effect"> {
  const loaded = { hash: `${pick % 3}`, difference: "" };
  if (pick % 7 === 1) return { effect: { type: "reload_skills", ...loaded } };
  if (pick % 7 === 2) return { effect: { type: "reload_persona", ...loaded } };
  if (pick % 7 === 3) return { effect: { type: "change_agent", to: odd ? "echo" : "chat" } };
  return pick % 7 === 4 && odd ? { effect: { type: "close" } } : {};
}

/** Ids are fresh at every step, as the server mints them; a key may come back. */
function somePrompt({ step, pick }: Situation) {
  const idempotency = pick % 4 === 0 ? { key: `k${pick % 3}`, hash: `${pick % 2}` } : null;
  const deadlineAtMs = pick % 6 === 0 ? step * 1_000 + (pick % 3) * 500 : null;
  const text = pick % 8 === 0 ? "/skills" : "go";
  const content = [{ type: "text", text }];
  return newPrompt(`p${step}`, { idempotency, deadlineAtMs, content });
}

function someStart({ step, pick, odd }: Situation) {
  const price = odd ? { ...NO_TOKENS, input: 3_000_000, perTurn: 11 } : null;
  const slash = pick % 5 === 0 ? { slash: one<SlashWork>(["agent", "skill", "tool"], pick) } : {};
  const reservedMicro = pick % 50 === 0 ? 0.5 : pick;
  const model = pick % 3 === 0 ? {} : { model: odd ? "large" : null };
  return { turnId: turnId(`t${step}`), reservedMicro, price, ...model, ...slash };
}

function someDeadline(at: Situation): CommandData["deadline_passed"]["deadline"] {
  if (at.pick % 10 === 0) return { of: "sandbox" };
  if (at.pick % 10 === 1) return { of: "child", childId: someChild(at) };
  if (at.pick % 3 === 0) return { of: "prompt", promptId: somePending(at) };
  if (at.pick % 3 === 1) return { of: "ask", requestId: someAsk(at) };
  return { of: "settling", turnId: someTurn(at) };
}

function agentStatus(at: Situation): AgentStatusReport {
  const status = at.pick % 3 > 0 ? EXPECTED[at.life.state] : one(AGENT_STATUSES, at.pick);
  const failure = { code: "-32603", message: "no", errorKind: at.odd ? null : "terminated" };
  if (status === "connected") return someConnection(at);
  if (status === "turn_complete") {
    return { status, turnId: someTurn(at), stopReason: "end_turn", ...someRuling(at) };
  }
  if (status === "turn_error") return { status, turnId: at.odd ? someTurn(at) : null, failure };
  if (status === "error") return { status, message: "broken" };
  return { status };
}

function someConnection({ pick, odd }: Situation): AgentStatusReport<"connected"> {
  const connected = { status: "connected", agentSessionId: "agent-1" } as const;
  const context = one<AgentContext>(["new", "resumed", "loaded", "seeded"], pick);
  if (odd) return { ...connected, context };
  const seen = pick % 2 === 0 ? `${pick % 3}` : null;
  const mcpServers = pick % 5 === 0 ? ["files"] : [];
  const surroundings = { agent: seen, model: seen, skills: seen, persona: null, mcpServers };
  return { ...connected, context, surroundings };
}

function agentUpdate({ pick, odd }: Situation): CommandData["agent_update"] {
  const content = { type: "text", text: `word ${pick} ` };
  const status = odd ? "completed" : "in_progress";
  const updates = [
    { sessionUpdate: "agent_message_chunk", content },
    { sessionUpdate: "agent_thought_chunk", content },
    { sessionUpdate: "agent_message_chunk", content, messageId: `m${pick % 5}` },
    { sessionUpdate: "tool_call", toolCallId: `call-${pick % 4}`, title: "Edit" },
    { sessionUpdate: "tool_call_update", toolCallId: `call-${pick % 4}`, status },
    { sessionUpdate: "session_info_update", title: `title ${pick % 2}` },
  ];
  return { update: updates[pick % 7] ?? { sessionUpdate: "brand_new_kind", anything: [null] } };
}
