import { z } from "zod";
import type { ErrorCode } from "../../core/error.ts";
import { MID_TURN_MESSAGE_CHARS_MAX, MID_TURN_MESSAGE_ID_CHARS_MAX } from "../../core/limits.ts";
import type { Actor } from "../../core/session/command.ts";
import { promotedMessages, type SessionAccess, type SteerRequest } from "../../session/index.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, answerTo, json, refused } from "../http/answer.ts";
import { readBody } from "../http/request-schema.ts";
import { type Route, route } from "../http/route.ts";
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
 * other agent the message becomes a queued prompt at once. So no accepted message is lost.
 */
export function midTurnRoutes(daemon: Daemon): readonly Route[] {
  return [sendRoute(daemon), listRoute(daemon), removeRoute(daemon)];
}

function sendRoute(daemon: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/mid-turn-message",
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

/** Refusals that mean "not now". The client still has the message. */
const NOT_NOW: ReadonlySet<ErrorCode> = new Set([
  "no_turn_running",
  "steer_limit_exceeded",
  "prompt_queue_full",
  "prompts_too_large",
]);

async function send(session: SessionAccess, actor: Actor, message: SteerRequest): Promise<Answer> {
  const { messageId } = message;
  const sent = await session.steer(actor, message);
  if (sent.ok) return json(200, { accepted: true, messageId });
  const { code } = sent.refusal;
  if (!NOT_NOW.has(code)) return refused(sent.refusal);
  const known = await session.messageIds();
  return answerTo(known, ({ settled, promoted }) => {
    // A repeat after the turn is of a message that was delivered already.
    const isRepeat = settled.includes(messageId) || promoted.includes(messageId);
    if (isRepeat) return json(200, { accepted: true, messageId });
    const isIdle = code === "no_turn_running";
    return json(200, { accepted: false, ...(isIdle && { reason: "session_idle" }) });
  });
}

function listRoute(daemon: Daemon): Route {
  return route({
    method: "GET",
    path: "/session/:id/mid-turn-messages",
    needs: "session:read",
    clientId: "registered",
    handle: (request) =>
      withReader(daemon, request, async (session) => {
        return answerTo(await session.messageIds(), ({ settled, promoted }) => {
          const ids = { settledMessageIds: settled, promotedMessageIds: promoted };
          return json(200, { messages: [], ...ids });
        });
      }),
  });
}

/** Removes a message that waits as a prompt. A message that the agent has cannot be removed. */
function removeRoute(daemon: Daemon): Route {
  return route({
    method: "DELETE",
    path: "/session/:id/mid-turn-messages/:messageId",
    needs: "session:steer",
    clientId: "registered",
    handle: (request) =>
      withReader(daemon, request, async (access, actor) => {
        const { session } = access;
        const { messageId } = request.params;
        const waiting = promotedMessages(session).find((message) => {
          const isWaiting = session.queue.some(({ promptId }) => promptId === message.promptId);
          return message.messageId === messageId && isWaiting;
        });
        if (waiting === undefined) return json(200, { removed: false });
        const { promptId } = waiting;
        const removed = await access.command(actor, { type: "remove_prompt", promptId });
        const isLate = !removed.ok && removed.refusal.code === "prompt_not_found";
        return isLate ? json(200, { removed: false }) : answerTo(removed, () => REMOVED);
      }),
  });
}

const REMOVED = json(200, { removed: true });
