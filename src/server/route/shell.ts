import { createHash } from "node:crypto";
import { z } from "zod";
import { refusal } from "../../core/error.ts";
import type { Idempotency } from "../../core/session/command.ts";
import { answerTo, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { readBody } from "../request-schema.ts";
import { type Route, route } from "../route.ts";
import { actorOf, withSession } from "../session-request.ts";

const shellBody = z.object({
  command: z.string().refine((command) => command.trim() !== "", "a command is not blank"),
});

/**
 * Runs a command line of a client beside the agent (4.12). It ends when the client leaves, unless
 * it has ended before; sent again under the same key, it is answered by what came of the first.
 */
export function shellRoute({ runtime, settings }: Daemon): Route {
  return route({
    method: "POST",
    path: "/session/:id/shell",
    gate: "strict",
    needs: "session:write",
    clientId: "registered",
    body: "json",
    async handle(request) {
      if (!settings.enableShell) return forbidden("session_shell_disabled");
      if (request.clientId === null) return forbidden("client_id_required");
      const read = readBody(shellBody, request.body);
      if (!read.ok) return refused(read.refusal);
      const { command } = read.value;
      const idempotency = idempotencyOf(request.header("idempotency-key"), command);
      const wish = { command, actor: actorOf(request), idempotency };
      return withSession(request, async (key) => {
        const ran = await runtime.side.shell(key, wish, request.signal);
        return answerTo(ran, ({ exitCode, output, aborted }) => {
          return json(200, { exitCode, output, aborted });
        });
      });
    },
  });
}

function forbidden(code: "session_shell_disabled" | "client_id_required") {
  return refused(refusal(code, { errorKind: code }));
}

function idempotencyOf(key: string | null, command: string): Idempotency {
  if (key === null) return null;
  return { key, hash: createHash("sha256").update(command).digest("hex") };
}
