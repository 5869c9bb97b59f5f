import { createHash } from "node:crypto";
import type { TenantId } from "../../core/id.ts";
import { NO_PERSONA, type Persona } from "../../core/persona.ts";
import { readPersona, writePersona } from "../../core/persona-text.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Actor } from "../../core/session/command.ts";
import type { ModelChange } from "../../core/session/model-config.ts";
import type { Chosen } from "../../core/session/state.ts";
import { canonicalJson, readSnapshot } from "../../core/skill/canonical.ts";
import { personaDifference, skillDifference } from "../../core/skill/difference.ts";
import { NO_SKILLS, type SkillSnapshot } from "../../core/skill/skill.ts";
import type { Reload } from "../../core/slash/reply.ts";
import type { AgentMode } from "../../core/turn.ts";
import type { Loader, LoadPlace } from "../../loader/loader.ts";
import type { SessionKey, SessionStore } from "../../store/store.ts";
import { unlessLetGo } from "../life/clients.ts";
import type { LiveSession } from "../live.ts";
import { givenBy, type SessionWorld } from "../world.ts";
import { changeAgentMode, ModelChanges } from "./agent-modes.ts";

/** What a session knows by its two snapshots, bodies included. */
export interface Knowledge {
  readonly skills: SkillSnapshot;
  readonly persona: Persona;
}

export const NO_KNOWLEDGE: Knowledge = { skills: NO_SKILLS, persona: NO_PERSONA };

/** A snapshot that was just taken: what is in it, and the hash it can be had by. */
export interface Taken<Snapshot> {
  readonly snapshot: Snapshot;
  readonly hash: string;
}

/** One of the two things that are loaded from files, and kept as text. */
interface Kind<Snapshot> {
  readonly nothing: Snapshot;
  load(loader: Loader, place: LoadPlace): Promise<Result<Snapshot>>;
  write(snapshot: Snapshot): string;
  read(text: string): Snapshot | null;
}

export const SKILLS: Kind<SkillSnapshot> = {
  nothing: NO_SKILLS,
  load: (loader, place) => loader.skills(place),
  write: canonicalJson,
  read: readSnapshot,
};

export const PERSONA: Kind<Persona> = {
  nothing: NO_PERSONA,
  load: (loader, place) => loader.persona(place),
  write: writePersona,
  read: readPersona,
};

/** Snapshots are blobs, named by the hash of their text; this one stands for an empty one. */
const NOTHING = "none";

/** Only these are names of blobs: a session that has lost its slot knows nothing any more. */
const BLOB = /^[0-9a-f]{64}$/;

/** What a session has chosen, as it was then, whatever the files say by now (P7). */
export async function readKnowledge(
  store: SessionStore,
  tenantId: TenantId,
  { skills, persona }: Pick<Chosen, "skills" | "persona">,
): Promise<Result<Knowledge>> {
  const known = await read(store, tenantId, skills.hash, SKILLS);
  if (!known.ok) return known;
  const self = await read(store, tenantId, persona.hash, PERSONA);
  return self.ok ? ok({ skills: known.value, persona: self.value }) : self;
}

async function read<Snapshot>(
  store: SessionStore,
  tenantId: TenantId,
  hash: string,
  kind: Kind<Snapshot>,
): Promise<Result<Snapshot>> {
  if (!BLOB.test(hash)) return ok(kind.nothing);
  const bytes = await store.readBlob(tenantId, hash);
  if (!bytes.ok) return bytes;
  const snapshot = kind.read(new TextDecoder().decode(bytes.value));
  return snapshot === null
    ? fail("session_corrupt", { reason: `${hash} is not a snapshot` })
    : ok(snapshot);
}

/** Loads what there is at a place and keeps it, for sessions to point at; no secret with it. */
export async function take<Snapshot>(
  world: SessionWorld,
  place: LoadPlace,
  kind: Kind<Snapshot>,
): Promise<Result<Taken<Snapshot>>> {
  const loaded = await kind.load(world.loader, place);
  if (!loaded.ok) return loaded;
  const text = world.redact(kind.write(loaded.value));
  if (text === kind.write(kind.nothing)) return ok({ snapshot: kind.nothing, hash: NOTHING });
  const snapshot = kind.read(text);
  if (snapshot === null)
    return fail("session_corrupt", { reason: "what was loaded is no snapshot" });
  const hash = await world.store.writeBlob(place.tenantId, new TextEncoder().encode(text));
  return hash.ok ? ok({ snapshot, hash: hash.value }) : hash;
}

/** The hash that `take` would give now; null if it would give none. Nothing is kept. */
export async function look<Snapshot>(
  world: SessionWorld,
  place: LoadPlace,
  kind: Kind<Snapshot>,
): Promise<string | null> {
  const loaded = await kind.load(world.loader, place);
  if (!loaded.ok) return null;
  const text = world.redact(kind.write(loaded.value));
  if (text === kind.write(kind.nothing)) return NOTHING;
  return createHash("sha256").update(text).digest("hex");
}

export type ReloadType = "reload_skills" | "reload_persona";

/**
 * Reading skill and persona files again, because somebody said so. Reloads of one session come one
 * after the other, so that each tells the difference to the one before it.
 */
export class Reloads {
  readonly #world: SessionWorld;
  readonly #last = new WeakMap<LiveSession, Promise<unknown>>();

  constructor(world: SessionWorld) {
    this.#world = world;
  }

  /** Reads them again and sets the session to what was found. */
  now(live: LiveSession, type: ReloadType, actor: Actor): Promise<Result<Reload>> {
    return this.inOrder(live, async () => {
      const by = givenBy(this.#world.clock, actor);
      // Nothing is read for somebody who may not, or in the middle of a turn.
      const why = live.refusalOf({ ...by, type, hash: "", difference: "" });
      if (why !== null) return { ok: false, refusal: why };
      const reload = await this.prepare(live, type);
      if (!reload.ok) return reload;
      const { to, difference } = reload.value;
      const { refusal } = await live.submit({ ...by, type, hash: to.hash, difference });
      return refusal === null ? reload : { ok: false, refusal };
    });
  }

  /** What a reload would come to now. The files are read and kept; the session is as it was. */
  async prepare(live: LiveSession, type: ReloadType): Promise<Result<Reload>> {
    const { skills, persona } = live.session.chosen;
    const found = await (type === "reload_skills" ? this.#skills(live) : this.#persona(live));
    if (!found.ok) return found;
    const { hash, difference } = found.value;
    const from = type === "reload_skills" ? skills : persona;
    return ok({ from, to: { version: from.version + 1, hash }, difference });
  }

  /** Runs this when the reloads before it are done. */
  inOrder<Answer>(live: LiveSession, work: () => Promise<Answer>): Promise<Answer> {
    const before = this.#last.get(live) ?? Promise.resolve();
    const done = before.then(work, work);
    this.#last.set(live, done);
    return done;
  }

  async #skills(live: LiveSession): Promise<Result<Found>> {
    const taken = await take(this.#world, placeOf(live), SKILLS);
    if (!taken.ok) return taken;
    const { hash, snapshot } = taken.value;
    return ok({ hash, difference: skillDifference((await this.#before(live)).skills, snapshot) });
  }

  async #persona(live: LiveSession): Promise<Result<Found>> {
    const taken = await take(this.#world, placeOf(live), PERSONA);
    if (!taken.ok) return taken;
    const { hash, snapshot } = taken.value;
    return ok({
      hash,
      difference: personaDifference((await this.#before(live)).persona, snapshot),
    });
  }

  /** What cannot be read any more is replaced all the same, and differs from nothing (P6). */
  async #before({ key, session }: LiveSession) {
    const known = await readKnowledge(this.#world.store, key.tenantId, session.chosen);
    return known.ok ? known.value : NO_KNOWLEDGE;
  }
}

interface Found {
  readonly hash: string;
  readonly difference: string;
}

function placeOf({ key, session }: LiveSession) {
  return { tenantId: key.tenantId, workspaceCwd: session.fixed.workspaceCwd };
}

/** The session, for somebody who has shown a sign of life by asking for it. */
type Find = (key: SessionKey, actor: Actor) => Promise<Result<LiveSession>>;

/**
 * What a session is set to: it changes when somebody says so and never otherwise, one thing at a
 * time (P7).
 */
export class Choices {
  readonly #world: SessionWorld;
  readonly #find: Find;
  readonly #models: ModelChanges;
  readonly reloads: Reloads;

  constructor(world: SessionWorld, find: Find) {
    this.#world = world;
    this.#find = find;
    this.#models = new ModelChanges(world.clock);
    this.reloads = new Reloads(world);
  }

  /** Sets the model and its settings at the agent, and then in the session, if it took them all. */
  async changeModel(key: SessionKey, change: ModelChange, actor: Actor): Promise<Result<void>> {
    const found = await this.#find(key, actor);
    return found.ok ? this.#models.change(found.value, change, actor) : found;
  }

  /** Chooses the agent's own mode for the next turn, if it is one that the agent offers. */
  async changeAgentMode(
    key: SessionKey,
    mode: AgentMode,
    actor: Actor,
  ): Promise<Result<AgentMode>> {
    return unlessLetGo(async () => {
      const found = await this.#find(key, actor);
      return found.ok ? changeAgentMode(this.#world.clock, found.value, mode, actor) : found;
    });
  }

  async reloadSkills(key: SessionKey, actor: Actor): Promise<Result<Reload>> {
    const found = await this.#find(key, actor);
    return found.ok ? this.reloads.now(found.value, "reload_skills", actor) : found;
  }

  async reloadPersona(key: SessionKey, actor: Actor): Promise<Result<Reload>> {
    const found = await this.#find(key, actor);
    return found.ok ? this.reloads.now(found.value, "reload_persona", actor) : found;
  }

  /** Gives the session to another agent, which is told the conversation with the next prompt. */
  async changeAgent(key: SessionKey, to: string, actor: Actor): Promise<Result<AgentChange>> {
    const { agentNames } = this.#world.settings;
    if (!agentNames.includes(to)) {
      return fail("agent_unknown", { profile: to, known: agentNames.join(", ") });
    }
    const found = await this.#find(key, actor);
    if (!found.ok) return found;
    const from = found.value.session.chosen.activeAgent;
    const atMs = this.#world.clock.nowMs();
    const { refusal } = await found.value.submit({ type: "change_agent", atMs, actor, to });
    return refusal === null ? ok({ from, to }) : { ok: false, refusal };
  }
}

export interface AgentChange {
  readonly from: string;
  readonly to: string;
}
