import { z } from "zod";
import { ROLES } from "../../../core/permission.ts";
import { named } from "../../../wire/named-schema.ts";
import type { Descriptions } from "../../openapi/description.ts";
import { flag, maybeText, one, open, text, time } from "./plain-shapes.ts";
import { autonomy } from "./session-shapes.ts";

const tenant = named("Tenant", () =>
  z.object({
    v: one(),
    tenantId: text(),
    role: z.enum(ROLES),
    user: maybeText(),
    settings: z.object({ autonomy: autonomy() }),
  }),
);

const policy = named("TenantPolicy", () =>
  z.object({
    v: one(),
    version: z.int().nullable(),
    policy: open().nullable(),
    ceiling: open().nullable(),
  }),
);

export const ABOUT_TENANT = {
  get: () => ({
    task: "tenant",
    summary: "Says which tenant the caller is of, in which role, and what it is set to.",
    answers: { 200: tenant() },
    example: {},
  }),
  set: () => ({
    task: "tenant",
    summary: "Sets what new sessions begin with. Sessions that exist stay as they are.",
    answers: { 200: tenant() },
    refusals: ["policy_forbids"],
    example: { body: { settings: { autonomy: "balanced" } } },
  }),
  policy: () => ({
    task: "tenant",
    summary: "Says what binds the caller; to owners also the whole policy.",
    answers: { 200: policy() },
    example: {},
  }),
  setPolicy: () => ({
    task: "tenant",
    summary: "Sets what users may do, by role. What it leaves out is as without a policy.",
    answers: { 200: policy() },
    refusals: ["policy_conflict", "agent_unknown"],
    example: { body: { version: 0, policy: { roles: { member: { mode: "ask" } } } } },
  }),
  remove: () => ({
    task: "tenant",
    summary: "Deletes the tenant with everything in it. The body confirms its name.",
    answers: { 204: null },
    refusals: ["tenant_busy", "tenant_locked", "session_locked"],
    example: { body: { confirm: "local" } },
  }),
} satisfies Descriptions;

const auditEntry = named("AuditEntry", () =>
  z.looseObject({
    v: one(),
    seq: z.int(),
    at: time(),
    act: text(),
    actor: z.looseObject({ kind: text() }),
    accepted: flag(),
    sessionId: text().optional(),
  }),
);

const auditPage = () => ({
  v: one(),
  entries: z.array(auditEntry()),
  hasMore: flag(),
  nextCursor: text().optional(),
});

export const ABOUT_AUDIT = {
  tenant: () => ({
    task: "audit",
    summary: "Lists what was decided and done in the tenant, newest first, or has it as a file.",
    answers: {
      200: {
        media: {
          "application/json": z.object(auditPage()),
          "application/x-ndjson": z.string(),
          "text/csv": z.string(),
        },
      },
    },
    refusals: ["invalid_cursor", "file_limit_exceeded"],
    example: { query: { act: "session_created", limit: "50" } },
  }),
  session: () => ({
    task: "audit",
    summary: "Lists what was decided and done in one session, which it outlives.",
    answers: { 200: z.object({ ...auditPage(), sessionId: text() }) },
    refusals: ["invalid_cursor"],
    example: { query: { limit: "50" } },
  }),
} satisfies Descriptions;
