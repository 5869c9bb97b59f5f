import { z } from "zod";
import { questionFault } from "../../session/side/aside.ts";
import { answerTo, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { readBody } from "../request-schema.ts";
import { type Route, route } from "../route.ts";
import { withSession } from "../session-request.ts";

const btwBody = z.object({
  question: z.string().superRefine((question, context) => {
    const fault = questionFault(question);
    if (fault !== null) context.addIssue({ code: "custom", message: fault });
  }),
});

/** A question beside the conversation; whoever does not wait for the answer ends it (4.12). */
export function btwRoute({ runtime }: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/btw",
    gate: "caller",
    needs: "session:write",
    clientId: "shape",
    body: "json",
    handle: (request) =>
      withSession(request, async (key) => {
        const read = readBody(btwBody, request.body);
        if (!read.ok) return refused(read.refusal);
        const { caller, signal } = request;
        const asked = await runtime.side.btw(key, read.value.question, signal, caller.userId);
        return answerTo(asked, (answer) => json(200, { sessionId: key.sessionId, answer }));
      }),
  });
}
