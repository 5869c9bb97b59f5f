import { z } from "zod";
import type { ErrorCode } from "../../core/error.ts";
import { MID_TURN_MESSAGE_CHARS_MAX, MID_TURN_MESSAGE_ID_CHARS_MAX } from "../../core/limits.ts";
import type { Actor } from "../../core/session/command.ts";
import type { SessionAccess, SteerRequest } from "../../session/index.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, answerTo, json, refused } from "../http/answer.ts";
import { readBody } from "../http/request-schema.ts";
import { type Route, route } from "../http/route.ts";
import { ABOUT_PROMPTS } from "./about/prompts.ts";
import { attachmentRefusal, mediaContent } from "./prompts.ts";
import { withReader, withSession } from "./session-request.ts";

const messageBody = z
  .object({
    message: z.string().trim().max(MID_TURN_MESSAGE_CHARS_MAX).default(""),
    messageId: z.string().min(1).max(MID_TURN_MESSAGE_ID_CHARS_MAX).optional(),
    content: mediaContent.default([]),
  })
  .refine(({ message, content }) => message !== "" || content.length > 0, {
    error: "it needs a message or content",
    path: ["message"],
  });

/**
 * Messages to an agent during a turn. An agent that supports steering gets them at once. For any
 * other agent they wait in a queue of their own, and are prompts when the turns before them have
 * ended. They are stored like prompts from the beginning, so no accepted message is lost.
 */
export function midTurnRoutes(daemon: Daemon): readonly Route[] {
  return [sendRoute(daemon), listRoute(daemon), removeRoute(daemon)];
}

function sendRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/mid-turn-message",
    about: ABOUT_PROMPTS.sendMidTurn,
    content: messageBody,
    needs: "session:steer",
    clientId: "registered",
    handle: (request) =>
      withSession(daemon, request, async (session, actor) => {
        const body = readBody(messageBody, request.body);
        if (!body.ok) return refused(body.refusal);
        const { message, messageId, content } = body.value;
        const missing = attachmentRefusal(content);
        if (missing !== null) return refused(missing);
        const text = message === "" ? [] : [{ type: "text", text: message }];
        const id = messageId ?? daemon.ids.prompt();
        return send(session, actor, { messageId: id, content: [...text, ...content] });
      }),
  });
}

/** Refusals that mean "not now", with the reason that clients get. They still have the message. */
const NOT_NOW: ReadonlyMap<ErrorCode, string> = new Map([
  ["no_turn_running", "session_idle"],
  ["steer_limit_exceeded", "queue_full"],
  ["prompts_too_large", "prompts_too_large"],
  ["idempotency_conflict", "message_id_conflict"],
  ["prompt_id_conflict", "message_id_conflict"],
]);

async function send(session: SessionAccess, actor: Actor, message: SteerRequest): Promise<Answer> {
  const { messageId } = message;
  const sent = await session.steer(actor, message);
  if (sent.ok) return json(200, { accepted: true, messageId });
  const reason = NOT_NOW.get(sent.refusal.code);
  if (reason === undefined) return refused(sent.refusal);
  const known = await session.midTurnMessages();
  return answerTo(known, ({ settled, promoted }) => {
    // A repeat after the turn is of a message that was delivered already.
    const isRepeat = settled.includes(messageId) || promoted.includes(messageId);
    return json(200, isRepeat ? { accepted: true, messageId } : { accepted: false, reason });
  });
}

function listRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/mid-turn-messages",
    about: ABOUT_PROMPTS.listMidTurn,
    needs: "session:read",
    clientId: "registered",
    handle: (request) =>
      withReader(daemon, request, async (session) => {
        return answerTo(await session.midTurnMessages(), ({ waiting, settled, promoted }) => {
          const ids = { settledMessageIds: settled, promotedMessageIds: promoted };
          return json(200, { messages: waiting, ...ids });
        });
      }),
  });
}

/** Removes a message that waits as a prompt. A message that the agent has cannot be removed. */
function removeRoute(daemon: Daemon): Route {
  return route({
    method: "DELETE",
    path: "/session/:id/mid-turn-messages/:messageId",
    about: ABOUT_PROMPTS.removeMidTurn,
    needs: "session:steer",
    clientId: "registered",
    handle: (request) =>
      withReader(daemon, request, async (access, actor) => {
        const { session } = access;
        const { messageId } = request.params;
        const waiting = session.queue.find((prompt) => prompt.messageId === messageId);
        if (waiting === undefined) return json(200, { removed: false });
        const { promptId } = waiting;
        const removed = await access.command(actor, { type: "remove_prompt", promptId });
        const isLate = !removed.ok && removed.refusal.code === "prompt_not_found";
        return isLate ? json(200, { removed: false }) : answerTo(removed, () => REMOVED);
      }),
  });
}

const REMOVED = json(200, { removed: true });
