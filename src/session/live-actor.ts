import type { AgentPast } from "../agent/agent.ts";
import type { Refusal } from "../core/error.ts";
import type { Skipped } from "../core/session/event.ts";
import { listedSkipped } from "../core/session/skipped.ts";
import type { Session } from "../core/session/state.ts";
import { SessionActor } from "./actor/actor.ts";
import { DeadlineTimers } from "./actor/deadlines.ts";
import type { OpenSession } from "./actor/open.ts";
import { TurnQueue } from "./actor/turn-queue.ts";
import { AgentSide } from "./agent/agent-side.ts";
import type { PresentClients } from "./agent/ask-reports.ts";
import { SessionAudit } from "./audit/entries.ts";
import { Children } from "./children/children.ts";
import type { ExtensionSide } from "./extension/extension-side.ts";
import { judgedTurns } from "./extension/judged-turns.ts";
import { SessionCredit } from "./meter/session-credit.ts";
import type { Participant } from "./participant.ts";
import { policyChecked } from "./tenant/policy-check.ts";
import { opinionsOf } from "./workflow/opinion.ts";
import { WorkflowSide } from "./workflow/workflow-side.ts";
import type { SessionWorld } from "./world.ts";

/** An actor for one log, with those of its participants that others ask. */
export interface LiveActor {
  readonly actor: SessionActor;
  readonly agent: AgentSide;
  readonly credit: SessionCredit;
  readonly queue: TurnQueue;
  /** Null where no session has any. */
  readonly extensions: ExtensionSide | null;
  skipped(): readonly Skipped[];
}

/** What the participants need of the session around them. */
interface LiveActorDeps {
  /** Hears that the store has failed. */
  failed(why: Refusal): void;
  readonly present: PresentClients;
  past(session: Session): AgentPast | null;
  /** What the session itself hears of what became durable. */
  readonly published: Participant;
  /** The participants from outside: the streams, and what comes after the queue. */
  readonly joining: readonly [Participant, ...Participant[]];
}

/** An actor for a session as it was opened, with everything that follows it. */
export function joinParticipants(
  world: SessionWorld,
  opened: OpenSession,
  { failed, present, past, published, joining }: LiveActorDeps,
): LiveActor {
  const { extensions, files } = opened;
  const actor = new SessionActor(world, opened, failed);
  // There can be hundreds of extensions, and the list is cut.
  const skipped = () =>
    listedSkipped([
      ...opened.skipped,
      ...(agent.link?.skipped ?? []),
      ...(extensions?.skipped ?? []),
      ...(workflow?.skipped ?? []),
    ]);
  const { workflow, opinions, children, delegation } = drivers(world, actor, opened, present);
  const agent: AgentSide = new AgentSide(world, actor, {
    stages: workflow,
    opinions,
    delegation,
    present,
    past,
    skipped,
    files,
    extensions,
  });
  const credit = new SessionCredit(world, actor, extensions);
  const queue: TurnQueue = new TurnQueue(actor, {
    begin: policyChecked(
      world,
      actor,
      agent,
      judgedTurns(world, actor, extensions, (...turn) => credit.begin(...turn)),
    ),
    activate() {
      if (extensions === null || extensions.isUp) return agent.activate();
      void extensions.bringUp().then(() => queue.follow(actor.decided));
    },
  });
  const timers = new DeadlineTimers(world, actor);
  const audit = new SessionAudit(actor);
  const [streams, ...others] = joining;
  const sides = extensions === null ? [] : [extensions];
  // Clients are told first, then the agent is set to work.
  actor.join([
    audit,
    streams,
    published,
    ...sides,
    credit,
    timers,
    ...(children === null ? [] : [children]),
    agent,
    queue,
    ...(workflow === null ? [] : [workflow]),
    ...others,
  ]);
  extensions?.join(actor);
  return { actor, agent, credit, queue, extensions, skipped };
}

/** What a session has only where its agent may delegate, or it may have a workflow. */
function drivers(
  world: SessionWorld,
  actor: SessionActor,
  { extensions, session, workflowSlot }: OpenSession,
  present: PresentClients,
) {
  const canDelegate = world.settings.childrenOpenMax > 0;
  const isDriven = world.workflows !== undefined || session.workflow !== undefined;
  const opinions = isDriven ? opinionsOf(() => workflow) : null;
  const deps = { present, extensions, opinions };
  const children = canDelegate || isDriven ? new Children(world, actor, deps) : null;
  const workflow: WorkflowSide | null = isDriven
    ? new WorkflowSide(world, actor, workflowSlot, children)
    : null;
  return { workflow, opinions, children, delegation: canDelegate ? children : null };
}
