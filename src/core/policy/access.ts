import type { AskId } from "../id.ts";
import type { JsonObject } from "../json.ts";
import { TURN_PERMITS_MAX } from "../limits.ts";
import { absolutePath, commandKey, pathKey, writtenPath } from "./approval-key.ts";
import type { AskKind, AskOption, AskOutcome } from "./ask.ts";
import {
  type AskFacts,
  allowlisted,
  type Gate,
  type GuardOpinion,
  passGates,
  type WorkflowOpinion,
} from "./gate.ts";
import type { ApprovalMode, RiskTier } from "./risk.ts";

/**
 * What an agent has the server do for it: run a command in a terminal, write a file, read one. An
 * agent may ask for permission first, and many do; an access that no granted ask covers passes the
 * gates of an ask by itself, so that an agent which does not ask is mediated all the same.
 */
export type Access =
  /** The line as `commandLineOf` spells it, and the directory as the agent named it. */
  | { readonly action: "terminal"; readonly command: string; readonly cwd: string }
  /** The real path, through no link any more. */
  | { readonly action: "write"; readonly path: string }
  | { readonly action: "read"; readonly path: string };

type AccessAction = Access["action"];

/**
 * What people or gates have answered to a call of this turn, by the keys that it had. Each key of
 * an allowed one covers one access; each of a refused one refuses all of them.
 */
export interface Permit {
  readonly requestId: AskId;
  readonly toolCallId: string | null;
  readonly keys: readonly string[];
  readonly allowed: boolean;
}

/** What decided an access. */
export type AccessRule =
  /** A granted ask of this turn covers it, or a refused one named the same. */
  | "ask"
  /** It reads inside the workspace, and no allowlist says otherwise. */
  | "workspace"
  /** There is no turn that it could belong to, or the turn is being stopped. */
  | "turn"
  /** The session plans, and does nothing. */
  | "plan"
  | Gate
  /** People were asked. */
  | "vote";

/** Why an access was refused, in words for the agent that wanted it. */
const ACCESS_REFUSED: Readonly<Record<AccessRule, string>> = {
  ask: "a person has refused it in this turn",
  workspace: "it is not inside the workspace",
  turn: "it belongs to no turn, or to one that is being stopped",
  plan: "the session is in plan mode, in which nothing is changed",
  workflow: "the session's workflow does not allow it",
  security_mode: "the session's allowlist does not name it",
  read_only: "the child session was begun to read only",
  grant: "it is not granted",
  autonomy_profile: "the session's autonomy does not reach so far",
  extension: "an extension of the session does not allow it",
  vote: "a person has refused it",
};

/** With a guard's own reason, so that the agent can do what it asks for. */
export function whyRefused(by: AccessRule, guard?: GuardOpinion): string {
  const said = by === "extension" && guard !== undefined ? guardReason(guard) : null;
  return said === null ? ACCESS_REFUSED[by] : `${ACCESS_REFUSED[by]}: ${said}`;
}

/** What a guard that denies says for itself; null if it says nothing. */
export function guardReason({ verdict, reason }: GuardOpinion): string | null {
  const said = reason.replace(/\.$/, "");
  return verdict === "deny" && said !== "" ? said : null;
}

export interface AccessFacts
  extends Pick<
    AskFacts,
    | "securityMode"
    | "allowlist"
    | "asksListed"
    | "grants"
    | "autonomyProfile"
    | "guard"
    | "readOnly"
  > {
  readonly workflow?: WorkflowOpinion;
  readonly access: Access;
  readonly workspaceCwd: string;
  readonly currentCwd: string;
  readonly approvalMode: ApprovalMode;
  /** Null outside a turn, and in one that is being stopped. */
  readonly permits: readonly Permit[] | null;
}

export type AccessRuling =
  | {
      readonly kind: "decided";
      readonly by: AccessRule;
      readonly allowed: boolean;
      readonly permit?: Permit;
    }
  | { readonly kind: "people" };

/**
 * The first rule that has an opinion decides; where none has, people do. A guard takes back what
 * would be let through, unless people were asked about the same in this turn.
 */
export function judgeAccess(facts: AccessFacts): AccessRuling {
  const ruling = firstRuling(facts);
  const { guard } = facts;
  const isOpen = ruling.kind === "people" || (ruling.allowed && ruling.permit === undefined);
  if (guard === undefined || !isOpen) return ruling;
  return guard.verdict === "deny" ? decided("extension", false) : { kind: "people" };
}

function firstRuling(facts: AccessFacts): AccessRuling {
  const { access, permits, approvalMode, securityMode, workflow = null } = facts;
  if (workflow === "deny") return decided("workflow", false);
  if (access.action === "read") {
    if (securityMode !== "allowlist") return decided("workspace", true);
    return decided("security_mode", allowlisted(keysOf(facts), facts.allowlist));
  }
  if (permits === null) return decided("turn", false);
  if (facts.readOnly) return decided("read_only", false);
  const answered = answerTo(access, permits, facts.currentCwd);
  if (answered !== null) return { ...decided("ask", answered.allowed), permit: answered };
  if (approvalMode === "plan") return decided("plan", false);
  const { allowlist, asksListed = false, grants } = facts;
  // The operator has opened a place outside of the workspace to people's decisions, no further.
  const isInside = access.action === "terminal" || isWithin(facts.workspaceCwd, access.path);
  const autonomyProfile = isInside ? facts.autonomyProfile : "manual";
  const keys = keysOf(facts);
  const gates = { securityMode, allowlist, asksListed, grants, autonomyProfile, keys };
  const about = { kind: "permission", tier: accessTier(access), workflow } as const;
  const ruling = passGates({ ...gates, ...about, options: ACCESS_OPTIONS });
  return ruling.kind === "people" ? ruling : decided(ruling.gate, ruling.allowed);
}

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

function decided(by: AccessRule, allowed: boolean) {
  return { kind: "decided", by, allowed } as const;
}

export function accessKey(access: Access): string {
  if (access.action === "terminal") return commandKey(access.command);
  return pathKey(access.action === "write" ? "edit" : "read", access.path);
}

export function accessTier({ action }: Access): RiskTier {
  return ACCESS_TIER[action];
}

const ACCESS_TIER: Readonly<Record<AccessAction, RiskTier>> = {
  terminal: "execute",
  write: "write",
  read: "read",
};

/** People write patterns for places of the workspace as often without its own path as with it. */
function keysOf({ access, allowlist, workspaceCwd }: AccessFacts): readonly string[] {
  const key = accessKey(access);
  if (access.action === "terminal" || !isWithin(workspaceCwd, access.path)) return [key];
  const rootChars = workspaceCwd.length + (workspaceCwd.endsWith("/") ? 0 : 1);
  const path = access.path.slice(rootChars);
  const within = accessKey({ ...access, path });
  return allowlisted([within], allowlist) ? [within] : [key];
}

/** What has been answered to this very access: what allows it, before what refuses it. */
function answerTo(access: Access, permits: readonly Permit[], cwd: string): Permit | null {
  const named = permits.filter(({ keys }) => keys.some((key) => names(key, access, cwd)));
  return named.find(({ allowed }) => allowed) ?? named[0] ?? null;
}

function names(key: string, access: Access, cwd: string): boolean {
  if (access.action !== "write") return key === accessKey(access);
  const path = writtenPath(key);
  return path !== null && absolutePath(path, cwd) === access.path;
}

/** The turn's answers with one more. */
export function withPermit(permits: readonly Permit[], permit: Permit): readonly Permit[] {
  return [...permits, permit].slice(-TURN_PERMITS_MAX);
}

/** One grant, one execution: what covered it, in any spelling, covers nothing else. */
export function withoutUse(
  permits: readonly Permit[],
  requestId: AskId,
  access: Access,
  cwd: string,
): readonly Permit[] {
  return permits.flatMap((permit) => {
    if (permit.requestId !== requestId || !permit.allowed) return [permit];
    const keys = permit.keys.filter((key) => !names(key, access, cwd));
    return keys.length > 0 ? [{ ...permit, keys }] : [];
  });
}

/** A call that has ended needs no permission any more; a refusal outlives it. */
export function withoutEnded(permits: readonly Permit[], toolCallId: string): readonly Permit[] {
  const isOver = (permit: Permit) => permit.allowed && permit.toolCallId === toolCallId;
  return permits.some(isOver) ? permits.filter((permit) => !isOver(permit)) : permits;
}

/** What people are shown of an access, in the words that they know from the asks of agents. */
export function accessCall(access: Access, toolCallId: string): JsonObject {
  if (access.action === "terminal") {
    const { command, cwd } = access;
    return { toolCallId, kind: "execute", title: visible(command), rawInput: { command, cwd } };
  }
  const { action, path } = access;
  const kind = action === "write" ? "edit" : "read";
  const title = visible(action === "write" ? `Write ${path}` : `Read ${path}`);
  return { toolCallId, kind, title, locations: [{ path }], rawInput: { path } };
}

/** Characters that move the cursor or turn the direction of text would show another command. */
function visible(text: string): string {
  return text.replaceAll(/(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (one) => {
    return `\\u{${one.codePointAt(0)?.toString(16)}}`;
  });
}

export const ACCESS_OPTIONS: readonly AskOption[] = [
  { optionId: "allow_once", name: "Allow once", kind: "allow_once" },
  { optionId: "allow_always", name: "Always allow exactly this", kind: "allow_always" },
  { optionId: "reject_once", name: "Refuse", kind: "reject_once" },
];

/** Whether an answer allows what was asked; a way of allowing that is not known does not. */
export function allows(options: readonly AskOption[], outcome: AskOutcome): boolean {
  if (outcome.outcome !== "selected") return false;
  const option = options.find(({ optionId }) => optionId === outcome.optionId);
  return option?.kind === "allow_once" || option?.kind === "allow_always";
}

interface AskedByAgent {
  readonly kind: AskKind;
  readonly options: readonly AskOption[];
  readonly toolCall: JsonObject;
  readonly known: JsonObject;
}

/**
 * The answer that the agent gets. "Always" is kept here, for exactly what was granted, and
 * the agent gets "once": what it would make of "always" by itself is often every
 * command of a tool. The answer to a question, a change of the agent's mode, and a choice among
 * several ways of allowing once pass as they were chosen: there the option is the answer.
 */
export function outcomeForAgent(ask: AskedByAgent, outcome: AskOutcome): AskOutcome {
  const { kind, options, toolCall, known } = ask;
  const isModeSwitch = (toolCall.kind ?? known.kind) === "switch_mode";
  if (outcome.outcome !== "selected" || kind !== "permission" || isModeSwitch) return outcome;
  const option = options.find(({ optionId }) => optionId === outcome.optionId);
  const [once, other] = options.filter((one) => one.kind === "allow_once");
  if (option?.kind !== "allow_always" || once === undefined || other !== undefined) return outcome;
  return { outcome: "selected", optionId: once.optionId };
}
