import { z } from "zod";
import { SESSION_STATES } from "../../../core/status.ts";
import { named } from "../../../wire/named-schema.ts";
import type { Descriptions } from "../../openapi/description.ts";
import {
  count,
  fileOf,
  flag,
  maybeTime,
  names,
  one,
  open,
  streamOf,
  text,
} from "./plain-shapes.ts";
import { envelope } from "./session-shapes.ts";

const reason = () =>
  z.object({
    code: text(),
    message: text(),
    tenantId: text().optional(),
    sessions: count().optional(),
  });

const health = named("Health", () =>
  z.object({
    status: z.enum(["ok", "starting", "degraded"]),
    reason: text().optional(),
    reasons: z.array(reason()).optional(),
    workspaceCount: count().optional(),
    sessions: count().optional(),
    pendingPermissions: count().optional(),
    activePrompts: count().optional(),
    activeWork: flag().optional(),
    activeWorkReporting: z.enum(["full", "partial", "none"]).optional(),
    activeWorkStaleMs: z.number().nullable().optional(),
    connectedClients: count().optional(),
    channelAlive: flag().optional(),
    lastActivityAt: maybeTime().optional(),
    idleSinceMs: z.number().nullable().optional(),
    recovery: z.object({ total: count(), recovered: count(), setAside: count() }).optional(),
    rateLimitHits: z.record(z.string(), count()).optional(),
    note: text().optional(),
  }),
);

const workspaceFields = () => ({
  id: text(),
  cwd: text(),
  displayName: text().optional(),
  primary: flag(),
  trusted: flag(),
  removable: flag().optional(),
});

const limit = () => z.int().nullable();

const capabilities = named("Capabilities", () =>
  z.object({
    v: one(),
    protocolVersions: z.object({ current: text(), supported: names() }),
    qwenCodeVersion: text(),
    fermataVersion: text(),
    mode: z.literal("native"),
    features: names(),
    modelServices: names(),
    workspaceCwd: text(),
    transports: names(),
    policy: z.object({ permission: text() }),
    limits: z.object({
      maxPendingPromptsPerSession: limit(),
      sessionRestoreTimeoutMs: z.int(),
      maxSessionsPerWorkspace: limit().optional(),
      maxTotalSessions: limit().optional(),
    }),
    workspaces: z.array(z.object(workspaceFields())),
    supportedLanguages: names(),
  }),
);

const statusTable = named("StatusTable", () =>
  z.object({
    v: one(),
    states: z.array(z.enum(SESSION_STATES)),
    transitions: open(),
    agentStatuses: names(),
    agentTransitions: open(),
    admission: open(),
  }),
);

export const ABOUT_SERVER = {
  health: () => ({
    task: "server",
    summary: "Says that the server answers and, with deep, what it is doing and what is wrong.",
    answers: { 200: health(), 503: health() },
    example: { query: { deep: "1" } },
  }),
  capabilities: () => ({
    task: "server",
    summary: "Names the server, its version, its limits and what it offers.",
    answers: { 200: capabilities() },
    example: {},
  }),
  statusTable: () => ({
    task: "server",
    summary: "Has the tables that decide what a session may do in which state.",
    answers: { 200: statusTable() },
    example: {},
  }),
  openapi: () => ({
    task: "server",
    summary: "Has this description of all routes, in OpenAPI 3.1.",
    headers: ["if-none-match"],
    answers: {
      200: z.object({
        openapi: z.literal("3.1.0"),
        info: open(),
        servers: z.array(open()),
        security: z.array(open()),
        tags: z.array(open()),
        paths: open(),
        components: open(),
      }),
      304: null,
    },
    example: {},
  }),
  reference: () => ({
    task: "server",
    summary: "Shows the same description as a page for people.",
    headers: ["if-none-match"],
    answers: { 200: fileOf("text/html"), 304: null },
    example: {},
  }),
  workspaces: () => ({
    task: "server",
    summary: "Lists the directories in which the caller's tenant may have sessions.",
    answers: { 200: z.object({ workspaces: z.array(z.object(workspaceFields())) }) },
    example: {},
  }),
  addWorkspace: () => ({
    task: "tenant",
    summary: "Adds a directory, or says whether it is trusted.",
    more: "Repeating it is no mistake. Adding a workspace trusts it unless trusted is false.",
    answers: { 200: z.object({ ...workspaceFields(), persisted: z.literal(true) }) },
    refusals: ["invalid_workspace", "second_tenant", "workspace_limit_exceeded"],
    example: { body: { cwd: "/home/me/project", trusted: true } },
  }),
  tenantEvents: () => ({
    task: "follow",
    summary: "Streams all sessions that the caller sees, and then each change.",
    more: "Its frames have no ids: each is the whole state of one session.",
    answers: { 200: streamOf(envelope()) },
    refusals: ["subscriber_limit_exceeded"],
    example: {},
  }),
} satisfies Descriptions;
