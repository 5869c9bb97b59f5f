import { type Refusal, refusal } from "../../core/error.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Actor } from "../../core/session/command.ts";
import { decide } from "../../core/session/decide.ts";
import type { Creation } from "../../core/session/state.ts";
import type { Manifest, SessionKey } from "../../store/index.ts";
import type { OpenSession } from "../actor/actor.ts";
import { OpenHistory } from "../actor/history.ts";
import { recordOf } from "../actor/record.ts";
import { writeEvents } from "../actor/written.ts";
import { auditEntries } from "../audit/entries.ts";
import { PERSONA, SKILLS, take } from "../choice/knowledge.ts";
import { EMPTY_TALLY } from "../stats/tally.ts";
import type { SessionWorld } from "../world.ts";

/** What a session is made with; its skills and persona are found where it is made. */
export type NewSession = Omit<Creation, "skills" | "persona">;

/** A new session with its first events, in one step: it is there whole, or not at all. */
export async function createSession(
  world: SessionWorld,
  key: SessionKey,
  wanted: NewSession,
  actor: Actor,
): Promise<Result<OpenSession>> {
  const { sessionId, tenantId } = key;
  const place = { tenantId, workspaceCwd: wanted.workspaceCwd };
  const skills = await take(world, place, SKILLS);
  if (!skills.ok) return skills;
  const persona = await take(world, place, PERSONA);
  if (!persona.ok) return persona;
  const creation: Creation = {
    ...wanted,
    skills: { version: 1, hash: skills.value.hash },
    persona: { version: 1, hash: persona.value.hash },
  };
  const atMs = world.clock.nowMs();
  const command = { type: "create", atMs, actor, sessionId, creation } as const;
  const decision = decide(null, command);
  if (decision.kind === "refused") return { ok: false, refusal: decision.refusal };
  const { session } = decision;
  if (session === null) return fail("session_not_found", { sessionId });
  const written = writeEvents(decision.events, 1);
  const leaks = written.some(({ text }) => world.redact(text) !== text);
  if (leaks) return { ok: false, refusal: leak() };
  const storeId = world.store.contract.storeId;
  const manifest: Manifest = {
    sessionId,
    storeId,
    mode: creation.securityMode,
    projectRoot: `${creation.workspaceCwd}/.fermata`,
    createdAt: atMs,
    updatedAt: atMs,
  };
  const epoch = world.ids.epoch();
  const record = recordOf(session, atMs);
  const journal = auditEntries({
    sessionId,
    epoch,
    command,
    decision,
    firstEventId: 1,
    revision: null,
  });
  const commit = { afterEventId: 0, events: written.map(({ text }) => text), journal };
  const { holder } = world;
  const made = await world.store.create(key, { holder, manifest, record, epoch, commit });
  if (!made.ok) return made;
  const history = new OpenHistory(
    { manifest, revision: 0, snapshotEventId: 0, tally: EMPTY_TALLY },
    world,
  );
  history.add(written);
  const { term } = made.value;
  const lastEventId = written.length;
  const fresh = { hasSnapshot: false, hasMessages: false, skipped: [] };
  return ok({ key, term, epoch, session, lastEventId, record, ...fresh, history });
}

/** A session is not made with a secret in its name or its settings. */
function leak(): Refusal {
  return refusal("secret_leak", { paths: "creation" });
}
