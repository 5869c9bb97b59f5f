import { createHash } from "node:crypto";
import type { TenantId } from "../core/id.ts";
import { NO_PERSONA, type Persona, readPersona, writePersona } from "../core/persona.ts";
import { fail, ok, type Result } from "../core/result.ts";
import type { Chosen } from "../core/session/state.ts";
import { NO_SKILLS, type SkillSnapshot } from "../core/skill/skill.ts";
import { canonicalJson, readSnapshot } from "../core/skill/snapshot.ts";
import type { Loader, LoadScope } from "../loader/loader.ts";
import type { SessionStore } from "../store/store.ts";
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
interface Kind<Snapshot> {
  readonly nothing: Snapshot;
  load(loader: Loader, place: LoadScope): Promise<Result<Snapshot>>;
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

/** What a session has chosen, as it was then, even if the files have changed (P7). */
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
  place: LoadScope,
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
  place: LoadScope,
  kind: Kind<Snapshot>,
): Promise<string | null> {
  const loaded = await kind.load(world.loader, place);
  if (!loaded.ok) return null;
  const text = world.redact(kind.write(loaded.value));
  if (text === kind.write(kind.nothing)) return NOTHING;
  return createHash("sha256").update(text).digest("hex");
}
