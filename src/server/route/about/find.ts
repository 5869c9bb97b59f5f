import { z } from "zod";
import type { Descriptions } from "../../openapi/description.ts";
import { count, names, text, time } from "./plain-shapes.ts";
import { sessionDetails, sessionPage } from "./session-shapes.ts";

const LIST = [
  "invalid_cursor",
  "invalid_archive_state",
  "invalid_session_view",
  "invalid_session_group_filter",
  "group_not_found",
  "invalid_parent_session_id",
  "invalid_parent_session_filter",
  "invalid_session_source",
  "workspace_mismatch",
] as const;

const deleted = () =>
  z.object({
    removed: names(),
    notFound: names(),
    errors: z.array(z.object({ sessionId: text(), error: text() })),
  });

const foundPage = () =>
  z.object({
    hits: z.array(
      z.object({
        session: z.looseObject({ sessionId: text(), workspaceCwd: text() }),
        role: z.enum(["user", "assistant", "tool", "title"]),
        turnId: text().optional(),
        at: time(),
        snippet: text(),
        marks: z.array(z.tuple([count(), count()])),
      }),
    ),
    nextCursor: text().optional(),
    indexing: z.literal(true).optional(),
  });

const EXAMPLE_DELETE = {
  body: { sessionIds: ["5e550000-0000-4000-8000-000000000001"] },
};

export const ABOUT_FIND = {
  all: () => ({
    task: "find",
    summary: "Lists the sessions of all workspaces that the caller sees, the last used first.",
    more: "All conditions have to hold. A page may have fewer than size while there is a cursor.",
    answers: { 200: sessionPage() },
    refusals: ["invalid_cursor", "workspace_mismatch"],
    example: { query: { status: "ready,running", size: "20" } },
  }),
  search: () => ({
    task: "find",
    summary: "Finds what was said in the sessions that the caller sees, the newest first.",
    more: "All words have to be there. Nothing in the query is an operator.",
    answers: { 200: foundPage() },
    refusals: ["invalid_search", "invalid_cursor", "search_unavailable", "workspace_mismatch"],
    example: { query: { q: "login bug", size: "20" } },
  }),
  workspace: () => ({
    task: "find",
    summary: "Lists the sessions of one workspace, the last used first.",
    answers: { 200: sessionPage() },
    refusals: LIST,
    example: { query: { size: "20" } },
  }),
  workspaceByOtherName: () => ({
    task: "find",
    summary: "Lists the sessions of one workspace, under the route's other name.",
    answers: { 200: sessionPage() },
    refusals: LIST,
    example: { query: { size: "20" } },
  }),
  counts: () => ({
    task: "find",
    summary: "Counts the sessions of one workspace, up to 10,000.",
    answers: {
      200: z.object({
        active: count(),
        archived: count(),
        total: count(),
        live: count(),
        expensive: z.literal(true),
        cost: z.literal("disk_scan"),
        truncated: z.literal(true).optional(),
      }),
    },
    refusals: ["workspace_mismatch"],
    example: {},
  }),
  delete: () => ({
    task: "find",
    summary: "Closes sessions and deletes what is stored of them; the audit stays.",
    answers: { 200: deleted() },
    example: EXAMPLE_DELETE,
  }),
  deleteInWorkspace: () => ({
    task: "find",
    summary: "Deletes sessions of one workspace; those of others are not found.",
    answers: { 200: deleted() },
    refusals: ["workspace_mismatch"],
    example: EXAMPLE_DELETE,
  }),
  status: () => ({
    task: "find",
    summary: "Shows a session as lists do, with its clients. It opens nothing.",
    answers: { 200: sessionDetails() },
    example: {},
  }),
  statusByOtherName: () => ({
    task: "find",
    summary: "Shows a session, under the route's other name.",
    answers: { 200: sessionDetails() },
    example: {},
  }),
} satisfies Descriptions;
