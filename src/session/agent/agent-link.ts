import type { AgentListener, AgentPast, AgentSession } from "../../agent/agent.ts";
import { type AgentUpdate, type ContentBlock, parentToolCallId } from "../../core/agent-update.ts";
import { type Refusal, sentenceOf } from "../../core/error.ts";
import type { TurnId } from "../../core/id.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import { STORE_REOPEN_MS_MIN } from "../../core/limits.ts";
import { ASKING_UNKNOWN, wantsAsks } from "../../core/policy/asking.ts";
import { DONE, fail, type Result } from "../../core/result.ts";
import type { Skipped } from "../../core/session/event.ts";
import {
  type Chosen,
  type ModelPart,
  optionsOfAgent,
  type RunningPrompt,
  type Session,
  settingsOfModel,
} from "../../core/session/state.ts";
import type { SessionKey } from "../../store/store.ts";
import type { Stages } from "../workflow/workflow-side.ts";
import type { SessionWorld } from "../world.ts";
import { askingMode, modeOnArrival, offeredMode, usualMode } from "./agent-modes.ts";
import type { AgentReports, AgentSetting } from "./agent-reports.ts";
import { type AgentTools, COMPLETE_TOOL, offerTools, skippedBy } from "./agent-tools.ts";
import { Briefing, type FilesAround, filesAround, knownSoon, surroundingsOf } from "./briefing.ts";
import {
  announceSkill,
  answerSkillGone,
  type CalledSkill,
  calledContent,
  isTool,
} from "./called-skill.ts";
import type { Delegation } from "./delegate-tool.ts";
import { NO_OFFER, OfferKeeper, offerNews } from "./offers.ts";
import { OpenAsks } from "./open-asks.ts";
import { askedFor, OwnTurn, type OwnTurnDeps } from "./own-turn.ts";

/** What an agent is set to before it gets a prompt; null is the mode it is in. */
interface Wanted {
  readonly parts: readonly ModelPart[];
  /** Those that make it ask. */
  readonly options: readonly (readonly [string, string | boolean])[];
  readonly mode: string | null;
}

/**
 * One activation of a session's agent. It is told what the session's state is, and does what that
 * asks for and has not been done yet: so what was missed in between is made up for, and
 * nothing is done twice.
 */
export class AgentLink {
  readonly activation: number;
  readonly #world: SessionWorld;
  readonly #reports: AgentReports;
  /** What the agent waits for an answer to. */
  readonly asks: OpenAsks;
  readonly #steered = new Set<string>();
  readonly #giveUp = new AbortController();
  #session: AgentSession | null = null;
  #briefing: Briefing | null = null;
  #offers: OfferKeeper | null = null;
  #tools: AgentTools | null = null;
  #files: ReturnType<typeof filesAround> | null = null;
  /** The session as it was told last; what is made up for later is made up for on this. */
  #latest: Session | null = null;
  /** A prompt has to wait before its agent can be given it. */
  #isWaiting = false;
  readonly #ownDeps: OwnTurnDeps;
  #own: OwnTurn | null = null;
  /** How many choices of a mode the agent has been told of. */
  #modeChoices = 0;
  #usualMode: string | null = null;
  #prompted: TurnId | null = null;
  #cancelled: TurnId | null = null;
  #sinceMs: number | null = null;
  #commands: readonly JsonObject[] = [];
  #isOver = false;

  constructor(
    world: SessionWorld,
    activation: number,
    reports: AgentReports,
    stages: Stages | null,
  ) {
    this.#world = world;
    this.activation = activation;
    this.#reports = reports;
    this.asks = new OpenAsks(world.ids, reports.asks);
    const { asks } = this;
    this.#ownDeps = { world, reports, asks, stages, isOver: () => this.#isOver };
  }

  /** Whether users with other ceilings may prompt here: then the agent asks in every mode. */
  get #isShared(): boolean {
    return this.#world.policies !== undefined;
  }

  /** The commands that the agent has said are its own. */
  get commands(): readonly JsonObject[] {
    return this.#commands;
  }

  get sinceMs(): number | null {
    return this.#sinceMs;
  }

  get agent(): AgentSession | null {
    return this.#session;
  }

  /** What the session has and this agent cannot be given, with the reasons (P6). */
  get skipped(): readonly Skipped[] {
    return skippedBy(this.#session, this.#tools);
  }

  /** Answers why there is no agent; null if there is one, or none is wanted any more. */
  async connect(
    key: SessionKey,
    session: Session,
    past: AgentPast | null,
    files: FilesAround | null,
    delegation: Delegation | null,
  ): Promise<Refusal | null> {
    const { activeAgent, currentCwd } = session.chosen;
    this.#modeChoices = session.agentModeChoices ?? 0;
    const { workspaceCwd } = session.fixed;
    const { tenantId } = key;
    const briefing = new Briefing(this.#world, tenantId, session);
    this.#briefing = briefing;
    this.#offers = new OfferKeeper(this.#world, tenantId);
    this.#files = filesAround(this.#world, { tenantId, workspaceCwd }, files);
    const unread = await briefing.learn(session.chosen);
    if (unread !== null) return this.#isOver ? null : unread;
    const tools = offerTools(this.#world, { tenantId, agent: activeAgent }, briefing, {
      delegation,
      stages: this.#ownDeps.stages,
    });
    this.#tools = tools;
    const request = {
      tenantId,
      userId: session.fixed.createdBy ?? null,
      owner: key.sessionId,
      profile: activeAgent,
      asks: wantsAsks(session.fixed.securityMode, this.#isShared),
      workspace: workspaceCwd,
      cwd: currentCwd,
      mcpServers: this.#world.tools.servers,
      toolbox: tools.server,
      systemPrompt: briefing.text,
      past,
    };
    const { signal } = this.#giveUp;
    const connected = await this.#world.agents.connect(request, this.#listener(session), signal);
    if (!connected.ok) tools.close();
    return connected.ok || this.#isOver ? null : connected.refusal;
  }

  /** Does what the state asks for: another mode, a prompt, or a wish to stop. */
  follow(session: Session) {
    const { running, connection, agentModeChoices = 0 } = session;
    this.#latest = session;
    if (this.#session === null || this.#isOver) return;
    const isMidTurn = running !== null && this.#prompted === running.turnId;
    if (!isMidTurn) this.#tools?.endTurn();
    // A choice is for the next turn, never for the one at work.
    if (!isMidTurn && agentModeChoices !== this.#modeChoices) {
      this.#modeChoices = agentModeChoices;
      void this.#changeMode(connection.agentMode ?? this.#usualMode);
    }
    if (connection.sessionState === "ready") this.#noteOffer(this.#session);
    if (running === null) return;
    if (this.#prompted !== running.turnId && !this.#prompt(running, session)) return;
    if (running.stopCause !== null && this.#cancelled !== running.turnId) {
      this.#cancelled = running.turnId;
      if (this.#own === null) this.#session.cancel();
      else this.#own.cancel();
    }
  }

  /** False if that has to wait: for skills or a persona to be read, or for late calls of tools. */
  #prompt(running: RunningPrompt, session: Session): boolean {
    const briefing = this.#briefing;
    if (briefing === null || this.#isWaiting) return false;
    const settling = this.#tools?.settling ?? null;
    if (settling !== null) return this.#wait(settling);
    if (!briefing.isOf(session.chosen)) return this.#wait(this.#learn(briefing, session.chosen));
    this.#prompted = running.turnId;
    this.#steered.clear();
    const give = (text: string) => this.#give(askedFor(running, text), briefing, null);
    const canComplete = this.#tools?.has(COMPLETE_TOOL) ?? false;
    const hands = { canComplete, give, stop: () => this.#session?.cancel() };
    const isStage = running.stage !== undefined && this.#ownDeps.stages !== null;
    this.#own = isStage || running.slash === "tool" ? new OwnTurn(this.#ownDeps) : null;
    if (this.#own?.beginStage(running, hands)) return true;
    const { slash, content } = running;
    const called = slash === "skill" || slash === "tool" ? briefing.skillIn(content) : null;
    if (slash === null || slash === "agent") this.#tryToGive(running, briefing, null);
    else if (called === null || isTool(called) !== (slash === "tool"))
      answerSkillGone(this.#reports, running);
    else if (slash === "tool") this.#own?.dispatch(running, called, session);
    else this.#tryToGive(running, briefing, called);
    return true;
  }

  /** Then everything is looked at again. */
  #wait(before: Promise<void>): false {
    this.#isWaiting = true;
    void before.then(() => {
      this.#isWaiting = false;
      if (this.#latest !== null) this.follow(this.#latest);
    });
    return false;
  }

  /** What was reloaded is read; if that failed, it is tried again after a pause. */
  async #learn(briefing: Briefing, chosen: Chosen): Promise<void> {
    if ((await briefing.learn(chosen)) === null) return;
    await new Promise<void>((go) => void this.#world.clock.after(STORE_REOPEN_MS_MIN, go));
  }

  #give(running: RunningPrompt, briefing: Briefing, called: CalledSkill | null): Result<void> {
    const { turnId, content, params } = running;
    // An agent knows its own command by what comes first, so all else has to wait or come behind.
    const isCommand = running.slash === "agent";
    const updates = isCommand ? [] : briefing.updates();
    const news = updates.flatMap(({ block }) => block ?? []);
    const told = running.shellContext.map((text): ContentBlock => ({ type: "text", text }));
    for (const { sent } of updates) this.#reports.instructed(sent);
    if (called !== null) announceSkill(this.#reports, running, called);
    const asked = called === null ? content : calledContent(called, content);
    const all = isCommand ? [...asked, ...told] : [...news, ...told, ...asked];
    this.#tools?.beginTurn(turnId);
    return this.#session?.prompt({ turnId, content: all, params, isCommand }) ?? DONE;
  }

  /** One that the agent cannot take has its verdict. */
  #tryToGive(running: RunningPrompt, briefing: Briefing, called: CalledSkill | null) {
    const given = this.#give(running, briefing, called);
    if (given.ok) return;
    const { turnId } = running;
    const { code } = given.refusal;
    const failure = { code, message: sentenceOf(given.refusal), errorKind: null };
    this.#reports.status({ status: "turn_error", turnId, failure });
  }

  steer(messageId: string, content: readonly ContentBlock[]): Result<void> {
    if (this.#steered.has(messageId)) return DONE;
    this.#steered.add(messageId);
    return this.#session?.steer(content) ?? fail("no_turn_running");
  }

  /** Lets the agent go in good order. */
  async close(): Promise<void> {
    this.asks.end();
    this.#own?.end();
    if (this.#session === null) this.#isOver = true;
    this.#giveUp.abort();
    await this.#session?.close();
    this.#tools?.close();
  }

  /**
   * From now on nothing of this agent is heard. If it is still at work on a turn, its process gets
   * no further sessions and ends with the last that it has.
   */
  async discard(): Promise<void> {
    this.#isOver = true;
    this.#reports.end();
    this.asks.end();
    this.#own?.end();
    this.#tools?.close();
    this.#giveUp.abort();
    await this.#session?.close();
  }

  #listener(wanted: Session): AgentListener {
    const reports = this.#reports;
    const unlessOver = (act: () => void) => {
      if (!this.#isOver) act();
    };
    return {
      connected: (session) => {
        this.#session = session;
        this.#sinceMs = this.#world.clock.nowMs();
        const { asking: known } = this.#world.settings;
        const asking = known.get(wanted.chosen.activeAgent) ?? ASKING_UNKNOWN;
        const isAsking = wantsAsks(wanted.fixed.securityMode, this.#isShared);
        const askMode = askingMode(session, asking, wanted.fixed, this.#isShared);
        this.#usualMode = usualMode(session, wanted.agentUsualMode ?? null, askMode);
        const parts = settingsOfModel(wanted.chosen.modelConfig);
        const mode = modeOnArrival(session, wanted, this.#usualMode, askMode);
        const toAsk = isAsking ? Object.entries(asking.options) : [];
        const set = optionsOfAgent(wanted).map(([id, { value }]) => [id, value] as const);
        const options = [...toAsk, ...set];
        const ready = () => this.#ready(session, wanted);
        if (parts.length + options.length === 0 && mode === null) void ready();
        else void this.#setUp(session, { parts, options, mode }).then(ready);
      },
      status: (report) => {
        // It was asked for, so this is no news; and late it would wake a session that was stopped.
        if (report.status !== "created")
          unlessOver(() => (this.#own ?? this.#reports).status(report));
      },
      update: (update) => {
        const isCommands = update.sessionUpdate === "available_commands_update";
        // Those of a sub-agent are not the session's.
        if (isCommands && parentToolCallId(update) === null) this.#commands = commandsIn(update);
        this.#own?.heardUpdate(update);
        return this.#isOver ? undefined : reports.update(update);
      },
      usage: (turnId, usage) => unlessOver(() => reports.usage(turnId, usage)),
      usageSuspect: (suspicion) => unlessOver(() => reports.usageSuspect(suspicion)),
      ask: (ask, signal) => this.asks.ask(ask, signal),
      access: (access, signal) => this.asks.access(access, signal),
      takeMessages: async () => (this.#isOver ? [] : reports.takeMessages()),
      hasQueuedPrompt: () => !this.#isOver && reports.hasQueuedPrompt(),
      exit: (exit) => {
        unlessOver(() => reports.exit(exit));
        this.#isOver = true;
        reports.end();
        this.#own?.end();
        this.#tools?.close();
        this.asks.end();
      },
      audit: (act, details) => reports.recordAct(act, details),
    };
  }

  /** What the session is set to is set at the agent before it gets a prompt (P7). */
  async #setUp(session: AgentSession, { parts, options, mode }: Wanted) {
    const choices = this.#modeChoices;
    for (const part of parts) {
      const refused = await session.setModelConfig([part]);
      if (refused !== null) this.#refused(part, refused.refusal);
    }
    for (const [id, value] of options) {
      const set = await session.setConfigOption(id, value);
      if (!set.ok) this.#refused({ setting: "option", value: `${id}=${value}` }, set.refusal);
    }
    // One that was chosen meanwhile has been set, and this one is out of date.
    if (choices === this.#modeChoices) await this.#changeMode(mode);
  }

  async #ready(session: AgentSession, wanted: Session): Promise<void> {
    const [files, offered] = await Promise.all([
      this.#files && knownSoon(this.#world, this.#files),
      this.#offers?.keep(session.offer),
    ]);
    if (files === null || this.#isOver || this.#giveUp.signal.aborted) return;
    const { agentSessionId, context, offer } = session;
    const surroundings = surroundingsOf(session, files, this.#world.tools.servers);
    const arrival = { agentSessionId, context, surroundings, usualMode: this.#usualMode };
    const known = offered === undefined ? {} : { offer: offered };
    this.#reports.status({ status: "connected", ...arrival, ...known });
    if (offered !== undefined) void this.#tellNews(session, wanted, offered);
    const sent = this.#briefing?.arrived(context, offer.takesSystemPrompt) ?? null;
    if (sent !== null) this.#reports.instructed(sent);
  }

  /**
   * Clients may have been shown what the agent offered when it was here last: what is not so any
   * more they learn as from an agent that changes it by itself.
   */
  async #tellNews({ offer }: AgentSession, wanted: Session, offered: string | null): Promise<void> {
    const { activation, agentOffer: before = null } = wanted;
    const isFirst = activation === 1 && before === null;
    if (offered === before || isFirst) return;
    const shown = (await this.#offers?.read(before)) ?? NO_OFFER;
    const news = offerNews(shown, offer);
    if (this.#isOver) return;
    for (const update of news) void this.#reports.update(update);
  }

  /** What changes in a turn is kept after it. */
  #noteOffer({ offer }: AgentSession) {
    const offers = this.#offers;
    if (offers === null || offers.isKept(offer)) return;
    void offers.keep(offer).then((kept) => {
      if (kept !== undefined && !this.#isOver) this.#reports.offered(kept);
    });
  }

  /** Without one there is nothing to set: the agent has no modes, or is in the right one. */
  async #changeMode(mode: string | null): Promise<void> {
    const session = this.#session;
    if (mode === null || session === null) return;
    const set = await session.setMode(offeredMode(session.offer, mode));
    if (!set.ok) this.#refused({ setting: "mode", value: mode }, set.refusal);
  }

  /** An agent that is gone or leaving is no news here. */
  #refused(setting: AgentSetting, why: Refusal) {
    if (this.#isOver || this.#giveUp.signal.aborted || why.code === "agent_gone") return;
    this.#reports.settingRefused(setting, why);
  }
}

function commandsIn({ availableCommands }: AgentUpdate): readonly JsonObject[] {
  return Array.isArray(availableCommands) ? availableCommands.filter(isObject) : [];
}
