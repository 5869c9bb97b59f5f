import { createHash } from "node:crypto";
import type { TenantId } from "../core/id.ts";
import { NO_PERSONA, type Persona, readPersona, writePersona } from "../core/persona.ts";
import { fail, ok, type Result } from "../core/result.ts";
import type { Chosen } from "../core/session/state.ts";
import { NO_SKILLS, type SkillSnapshot } from "../core/skill/skill.ts";
import { canonicalJson, readSnapshot } from "../core/skill/snapshot.ts";
import type { Loader, LoadScope } from "../loader/loader.ts";
import type { SnapshotMemory } from "./known-snapshots.ts";
import type { SessionWorld } from "./world.ts";

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
interface Kind<Snapshot extends object> {
  readonly nothing: Snapshot;
  memory(world: Pick<SessionWorld, "known">): SnapshotMemory<Snapshot>;
  load(loader: Loader, place: LoadScope): Promise<Result<Snapshot>>;
  write(snapshot: Snapshot): string;
  read(text: string): Snapshot | null;
}

export const SKILLS: Kind<SkillSnapshot> = {
  nothing: NO_SKILLS,
  memory: ({ known }) => known.skills,
  load: (loader, place) => loader.skills(place),
  write: canonicalJson,
  read: readSnapshot,
};

export const PERSONA: Kind<Persona> = {
  nothing: NO_PERSONA,
  memory: ({ known }) => known.persona,
  load: (loader, place) => loader.persona(place),
  write: writePersona,
  read: readPersona,
};

/** Snapshots are blobs, named by the hash of their text; this one stands for an empty one. */
const NOTHING = "none";

/** Only these are names of blobs: a session that has lost its slot knows nothing any more. */
const BLOB = /^[0-9a-f]{64}$/;

/** Where snapshots are, on the disk and in memory. */
type StoredSnapshots = Pick<SessionWorld, "store" | "known">;

/** What a session has chosen, as it was then, even if the files have changed (P7). */
export async function readKnowledge(
  world: StoredSnapshots,
  tenantId: TenantId,
  { skills, persona }: Pick<Chosen, "skills" | "persona">,
): Promise<Result<Knowledge>> {
  const known = await read(world, tenantId, skills.hash, SKILLS);
  if (!known.ok) return known;
  const self = await read(world, tenantId, persona.hash, PERSONA);
  return self.ok ? ok({ skills: known.value, persona: self.value }) : self;
}

async function read<Snapshot extends object>(
  world: StoredSnapshots,
  tenantId: TenantId,
  hash: string,
  kind: Kind<Snapshot>,
): Promise<Result<Snapshot>> {
  if (!BLOB.test(hash)) return ok(kind.nothing);
  const memory = kind.memory(world);
  const known = memory.use(tenantId, hash);
  if (known !== undefined) return ok(known);
  const bytes = await world.store.readBlob(tenantId, hash);
  if (!bytes.ok) return bytes;
  const text = new TextDecoder().decode(bytes.value);
  const snapshot = kind.read(text);
  if (snapshot === null) return fail("session_corrupt", { reason: `${hash} is not a snapshot` });
  memory.stored(tenantId, hash, snapshot, text.length);
  return ok(snapshot);
}

/** Loads what there is at a place and keeps it, for sessions to point at; no secret with it. */
export async function take<Snapshot extends object>(
  world: SessionWorld,
  place: LoadScope,
  kind: Kind<Snapshot>,
): Promise<Result<Taken<Snapshot>>> {
  const loaded = await kind.load(world.loader, place);
  if (!loaded.ok) return loaded;
  const text = world.redact(textOf(kind, loaded.value));
  const hash = hashOf(kind, text);
  if (hash === NOTHING) return ok({ snapshot: kind.nothing, hash });
  const memory = kind.memory(world);
  const known = memory.use(place.tenantId, hash);
  if (known !== undefined) return ok({ snapshot: known, hash });
  const snapshot = kind.read(text);
  if (snapshot === null)
    return fail("session_corrupt", { reason: "what was loaded is no snapshot" });
  const written = await world.store.writeBlob(place.tenantId, new TextEncoder().encode(text));
  if (!written.ok) return written;
  memory.stored(place.tenantId, written.value, snapshot, text.length);
  return ok({ snapshot, hash: written.value });
}

/** The hash that `take` would give now; null if it would give none. Nothing is kept. */
export async function look<Snapshot extends object>(
  world: SessionWorld,
  place: LoadScope,
  kind: Kind<Snapshot>,
): Promise<string | null> {
  const loaded = await kind.load(world.loader, place);
  if (!loaded.ok) return null;
  return hashOf(kind, world.redact(textOf(kind, loaded.value)));
}

/** Texts of snapshots that a loader gives again and again. */
const texts = new WeakMap<object, string>();

function textOf<Snapshot extends object>(kind: Kind<Snapshot>, snapshot: Snapshot): string {
  const text = texts.get(snapshot) ?? kind.write(snapshot);
  texts.set(snapshot, text);
  return text;
}

/** The name of the blob that has this text. */
function hashOf<Snapshot extends object>(kind: Kind<Snapshot>, text: string): string {
  if (text === textOf(kind, kind.nothing)) return NOTHING;
  return createHash("sha256").update(text).digest("hex");
}
