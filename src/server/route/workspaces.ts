import { isAbsolute } from "node:path";
import { z } from "zod";
import type { Daemon } from "../daemon.ts";
import { answerTo, json, refused } from "../http/answer.ts";
import { readBody, stewardOf } from "../http/request-schema.ts";
import { type Route, route } from "../http/route.ts";
import type { Workspace } from "../workspaces.ts";
import { cwd } from "./new-session.ts";

const workspaceBody = z.object({
  cwd: cwd.refine(isAbsolute, { error: "a workspace is an absolute path" }),
  trusted: z.boolean().optional(),
});

/** Lists and adds the directories in which the caller's tenant may have sessions. */
export function workspacesRoutes({ workspaces, world: { clock } }: Daemon): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/workspaces",
      needs: "session:read",
      async handle({ caller }) {
        return answerTo(await workspaces.of(caller.tenantId), (known) => {
          return json(200, { workspaces: known.map(workspaceEntry) });
        });
      },
    }),
    route({
      method: "POST",
      path: "/workspaces",
      needs: "workspaces:write",
      async handle({ caller, body }) {
        const wanted = readBody(workspaceBody, body);
        if (!wanted.ok) return refused(wanted.refusal);
        const { cwd, trusted: isTrusted = null } = wanted.value;
        const change = { cwd, isTrusted, by: stewardOf(caller), atMs: clock.nowMs() };
        return answerTo(await workspaces.add(caller.tenantId, change), (added) => {
          return json(200, { ...workspaceEntry(added), persisted: true });
        });
      },
    }),
  ];
}

/** A workspace as clients see it. */
export function workspaceEntry({ id, cwd, isPrimary, isTrusted }: Workspace) {
  return { id, cwd, primary: isPrimary, trusted: isTrusted };
}
