import { z } from "zod";
import { parseUserId, type UserId } from "../../core/id.ts";
import { AGENT_NAME_CHARS_MAX, SESSION_SHARED_USERS_MAX } from "../../core/limits.ts";
import { APPROVAL_MODES, AUTONOMY_PROFILES } from "../../core/policy/risk.ts";
import { type Sharing, VISIBILITIES } from "../../core/session/visibility.ts";
import { SANDBOX_STATES } from "../../core/turn.ts";
import { changeIn, type SessionAccess } from "../../session/index.ts";
import { modelChange } from "../../wire/new-session.ts";
import type { Daemon } from "../daemon.ts";
import { answerTo, json } from "../http/answer.ts";
import { listOf } from "../http/request-schema.ts";
import { type Route, route } from "../http/route.ts";
import { ABOUT_SETTINGS } from "./about/settings.ts";
import { refusedMode, settingRoute, withSession } from "./session-request.ts";

/** Changes the session's model and its settings, if the agent accepts all of them. */
export function modelRoute(daemon: Daemon): Route {
  return settingRoute(daemon, {
    path: "/session/:id/model",
    about: ABOUT_SETTINGS.model,
    schema: modelChange,
    set: async (session, wanted, actor) => {
      const changed = await session.changeModel(wanted, actor);
      return answerTo(changed, () => json(200, {}));
    },
  });
}

/** Changes the session's agent, as `/agent NAME` does. Refused during a turn. Ours. */
export function activeAgentRoute(daemon: Daemon): Route {
  return settingRoute(daemon, {
    path: "/session/:id/agent",
    about: ABOUT_SETTINGS.agent,
    schema: z.object({ agent: z.string().min(1).max(AGENT_NAME_CHARS_MAX) }),
    set: async (session, { agent }, actor) => {
      const changed = await session.changeAgent(agent, actor);
      return answerTo(changed, (change) => json(200, change));
    },
  });
}

/** Sets the agent's own mode from the next turn on. Ours. */
export function agentModeRoute(daemon: Daemon): Route {
  return settingRoute(daemon, {
    path: "/session/:id/agent-mode",
    about: ABOUT_SETTINGS.agentMode,
    schema: z.object({ mode: z.string().min(1).max(AGENT_NAME_CHARS_MAX).nullable() }),
    set: async (session, { mode }, actor) => {
      const { sessionId } = session.key;
      const changed = await session.changeAgentMode(mode, actor);
      return answerTo(changed, (previous) => json(200, { sessionId, mode, previous }));
    },
  });
}

/** Sets an option of the agent's own; upstream has the reasoning effort only. */
export function configOptionRoute(daemon: Daemon): Route {
  return settingRoute(daemon, {
    path: "/session/:id/config-option",
    about: ABOUT_SETTINGS.configOption,
    schema: z.object({
      configId: z.string().min(1).max(AGENT_NAME_CHARS_MAX),
      value: z.union([z.string().max(AGENT_NAME_CHARS_MAX), z.boolean()]),
      persist: z.boolean().optional(),
    }),
    codes: { persist: "invalid_persist_flag" },
    set: async (session, { configId, value }, actor) => {
      const changed = await session.changeAgentOption({ configId, value }, actor);
      // The session itself remembers it; there are no settings of a user to persist it in.
      return answerTo(changed, (configOptions) => json(200, { configOptions, persisted: false }));
    },
  });
}

/** Sets which calls the session approves without asking. */
export function approvalModeRoute(daemon: Daemon): Route {
  return settingRoute(daemon, {
    path: "/session/:id/approval-mode",
    about: ABOUT_SETTINGS.approvalMode,
    schema: z.object({ mode: z.enum(APPROVAL_MODES), persist: z.boolean().optional() }),
    codes: { mode: "invalid_approval_mode", persist: "invalid_persist_flag" },
    refusedBody: refusedMode,
    set: async (session, { mode }, actor) => {
      // The session itself stores the mode; there are no workspace settings to persist it in.
      const persisted = false;
      const change = { type: "approval_mode", mode, persisted } as const;
      const changed = await session.command(actor, change);
      return answerTo(changed, (outcome) => {
        const previous = changeIn(outcome, "approval_mode_changed")?.previous ?? mode;
        return json(200, { sessionId: session.key.sessionId, mode, previous, persisted });
      });
    },
  });
}

/**
 * Sets the highest risk that the session approves without asking. The approval mode follows it.
 * Ours.
 */
export function autonomyRoute(daemon: Daemon): Route {
  return settingRoute(daemon, {
    path: "/session/:id/autonomy",
    about: ABOUT_SETTINGS.autonomy,
    schema: z.object({ profile: z.enum(AUTONOMY_PROFILES) }),
    set: async (session, { profile }, actor) => {
      const changed = await session.command(actor, { type: "autonomy", profile });
      return answerTo(changed, (outcome) => {
        const previous = changeIn(outcome, "autonomy_profile_changed")?.from ?? profile;
        return json(200, { sessionId: session.key.sessionId, profile, previous });
      });
    },
  });
}

const userId = z.string().transform((text, context): UserId => {
  const id = parseUserId(text);
  if (id !== null) return id;
  context.addIssue({ code: "custom", message: "it is not the id of a user" });
  return z.NEVER;
});

const sharing = z
  .object({
    visibility: z.enum(VISIBILITIES),
    sharedWith: listOf(userId, SESSION_SHARED_USERS_MAX).default([]),
  })
  .refine(({ visibility, sharedWith }) => visibility === "private" || sharedWith.length === 0, {
    path: ["sharedWith"],
    error: "the whole tenant sees the session, so it is shared with none in particular",
  });

/** Whom the session is visible to, and the change of it by its creator or an owner. Ours. */
export function visibilityRoutes(daemon: Daemon): readonly Route[] {
  const path = "/session/:id/visibility";
  return [
    route({
      method: "GET",
      path,
      about: ABOUT_SETTINGS.visibility,
      needs: "session:read",
      handle: (request) =>
        withSession(daemon, request, async (session) => sharingAnswer(session, session.sharing)),
    }),
    settingRoute(daemon, {
      path,
      about: ABOUT_SETTINGS.share,
      schema: sharing,
      set: async (session, wanted, actor) => {
        const shared = await session.share(actor, wanted);
        return answerTo(shared, (now) => sharingAnswer(session, now));
      },
    }),
  ];
}

function sharingAnswer({ key, session }: SessionAccess, { visibility, sharedWith }: Sharing) {
  const { createdBy = null } = session.fixed;
  return json(200, { sessionId: key.sessionId, visibility, createdBy, sharedWith });
}

/**
 * Records the state of the session's sandbox for its operator. The server only stores and shows it.
 * Ours.
 */
export function sandboxRoute(daemon: Daemon): Route {
  return settingRoute(daemon, {
    path: "/session/:id/sandbox",
    about: ABOUT_SETTINGS.sandbox,
    schema: z.object({ state: z.enum(SANDBOX_STATES) }),
    set: async (session, { state }, actor) => {
      const changed = await session.command(actor, { type: "sandbox", state });
      return answerTo(changed, (outcome) => {
        const previous = changeIn(outcome, "sandbox_changed")?.from ?? state;
        return json(200, { sessionId: session.key.sessionId, state, previous });
      });
    },
  });
}

/** The body is ignored: the files say what changes. */
const schema = z.looseObject({});

/** Reads the skill files again, as `/reload_skills` does. Refused during a turn. Ours. */
export function skillsReloadRoute(daemon: Daemon): Route {
  return settingRoute(daemon, {
    path: "/session/:id/skills/reload",
    about: ABOUT_SETTINGS.reloadSkills,
    schema,
    set: async (session, _nothing, actor) => {
      const reloaded = await session.reloadSkills(actor);
      return answerTo(reloaded, (change) => json(200, change));
    },
  });
}

/**
 * Has the extensions of a session replaced by those that its operator trusts and configures by now.
 * Ours.
 */
export function extensionsReloadRoute(daemon: Daemon): Route {
  return settingRoute(daemon, {
    path: "/session/:id/extensions/reload",
    about: ABOUT_SETTINGS.reloadExtensions,
    schema,
    set: async (session) => answerTo(await session.reloadExtensions(), (done) => json(200, done)),
  });
}

/** Reads the persona files again, as `/reload_persona` does. Refused during a turn. Ours. */
export function personaReloadRoute(daemon: Daemon): Route {
  return settingRoute(daemon, {
    path: "/session/:id/persona/reload",
    about: ABOUT_SETTINGS.reloadPersona,
    schema,
    set: async (session, _nothing, actor) => {
      const reloaded = await session.reloadPersona(actor);
      return answerTo(reloaded, (change) => json(200, change));
    },
  });
}
