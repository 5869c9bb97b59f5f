import { isAbsolute } from "node:path";
import { z } from "zod";
import { refusal } from "../../core/error.ts";
import { answerTo, json, refused } from "../answer.ts";
import type { Daemon } from "../daemon.ts";
import { cwd } from "../new-session.ts";
import { readBody } from "../request-schema.ts";
import { type Role, type Route, route } from "../route.ts";
import type { Workspace } from "../workspaces.ts";

const workspaceBody = z.object({
  cwd: cwd.refine(isAbsolute, { error: "a workspace is an absolute path" }),
  trusted: z.boolean().optional(),
});

/** Who may let the tenant's sessions into another directory of this machine. */
const ADDERS: readonly Role[] = ["owner", "admin"];

/** The directories in which the caller's tenant may have sessions, and a further one. */
export function workspacesRoutes({ workspaces }: Daemon): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/workspaces",
      gate: "caller",
      clientId: "ignored",
      body: "json",
      async handle({ caller }) {
        return answerTo(await workspaces.of(caller.tenantId), (known) => {
          return json(200, { workspaces: known.map(workspaceEntry) });
        });
      },
    }),
    route({
      method: "POST",
      path: "/workspaces",
      gate: "caller",
      clientId: "ignored",
      body: "json",
      async handle({ caller, body }) {
        if (!ADDERS.includes(caller.role)) {
          return refused(refusal("role_required", { roles: ADDERS.join(" and ") }));
        }
        const wanted = readBody(workspaceBody, body);
        if (!wanted.ok) return refused(wanted.refusal);
        const { cwd, trusted = null } = wanted.value;
        return answerTo(await workspaces.add(caller.tenantId, cwd, trusted), (added) => {
          return json(200, { ...workspaceEntry(added), persisted: true });
        });
      },
    }),
  ];
}

/** A workspace as the wire has it (2.2). */
export function workspaceEntry({ id, cwd, isPrimary, isTrusted }: Workspace) {
  return { id, cwd, primary: isPrimary, trusted: isTrusted };
}
