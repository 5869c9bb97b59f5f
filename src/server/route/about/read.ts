import { z } from "zod";
import { named } from "../../../wire/named-schema.ts";
import type { Descriptions } from "../../openapi/description.ts";
import {
  count,
  fileOf,
  flag,
  maybeText,
  maybeTime,
  names,
  one,
  open,
  streamOf,
  text,
  time,
} from "./plain-shapes.ts";
import { agentState, envelope } from "./session-shapes.ts";

const diagnostic = () =>
  z.object({
    skill_name: text().optional(),
    name: text().optional(),
    code: text(),
    message: text(),
    source: text(),
    path: text(),
  });

/** With `detail=full` an entry has its body, else the length of it. */
const skill = named("Skill", () =>
  z.object({
    skill_name: text(),
    source: text(),
    path: text(),
    summary: text(),
    invocation_mode: z.enum(["llm_orchestration", "tool_dispatch"]),
    command: maybeText(),
    command_tool: maybeText(),
    requires_tools: names(),
    eligibility: z.object({ os: names(), env: names(), binaries: names() }),
    body: text().optional(),
    body_chars: count().optional(),
  }),
);

const message = named("ConversationMessage", () =>
  z.object({
    index: z.int(),
    role: z.enum(["user", "assistant", "tool"]),
    turnId: text(),
    atMs: z.number(),
    promptId: text().optional(),
    messageId: text().optional(),
    content: z.array(open()).optional(),
    context: names().optional(),
    under: text().optional(),
    toolCallId: text().optional(),
    status: text().optional(),
    call: open().optional(),
    result: open().nullable().optional(),
  }),
);

const fields = named("SessionFields", () =>
  z.object({
    v: one(),
    session_id: text(),
    active_agent: text(),
    skill_snapshot: z.object({
      snapshot_version: z.int(),
      hash: text(),
      entries: z.array(skill()),
      diagnostics: z.array(diagnostic()),
    }),
    persona: z.object({
      version: z.int(),
      hash: text(),
      files: z.array(z.object({ name: text(), source: text(), path: text(), text: text() })),
      diagnostics: z.array(diagnostic()),
    }),
    model_config: z.object({
      name: maybeText(),
      temperature: z.number().optional(),
      reasoning_level: text().optional(),
      verbosity: text().optional(),
    }),
    conversation_state: z.object({
      messages: z.array(message()),
      messageCount: count(),
      nextCursor: z.int().optional(),
      unreadable: z.array(z.int()).optional(),
    }),
    created_at: time(),
    last_updated_at: time(),
    reload_count: count(),
    command_history: z.array(z.object({ command: maybeText(), code: text(), at: time() })),
  }),
);

const stats = named("SessionStats", () =>
  z.object({
    v: one(),
    sessionId: text(),
    workspaceCwd: text(),
    sessionStartTimeMs: z.number(),
    durationMs: z.number(),
    promptCount: count(),
    models: z.record(z.string(), z.object({ api: open(), tokens: z.record(z.string(), count()) })),
    tools: z.object({
      totalCalls: count(),
      totalSuccess: count(),
      totalFail: count(),
      totalDurationMs: z.number(),
      byName: open(),
    }),
    files: z.object({ totalLinesAdded: count(), totalLinesRemoved: count() }),
    turns: z.object({ completed: count(), failed: count() }),
    cost: z.object({
      chargedMicro: z.int(),
      openMicro: z.int(),
      budgetMicro: z.int().nullable(),
    }),
  }),
);

const command = () =>
  z.object({
    name: text(),
    description: text(),
    input: z.object({ hint: text() }).nullable(),
  });

export const ABOUT_READ = {
  fields: () => ({
    task: "read",
    summary: "Says what the session is and knows, with a page of its conversation.",
    answers: { 200: fields() },
    example: { query: { messages: "50" } },
  }),
  context: () => ({
    task: "read",
    summary: "Says what the agent can be set to, and is.",
    answers: {
      200: z.object({
        v: one(),
        sessionId: text(),
        workspaceCwd: text(),
        state: agentState(),
      }),
    },
    example: {},
  }),
  contextUsage: () => ({
    task: "read",
    summary: "Says how full the agent's context is, if the agent reports it.",
    answers: {
      200: z.object({
        v: one(),
        sessionId: text(),
        workspaceCwd: text(),
        usage: z.object({
          modelName: text(),
          totalTokens: count(),
          contextWindowSize: count(),
          breakdown: z.record(z.string(), count()),
          builtinTools: names(),
          mcpTools: names(),
          memoryFiles: names(),
          skills: names(),
          isEstimated: flag(),
          showDetails: flag(),
        }),
        formattedText: text(),
      }),
    },
    example: { query: { detail: "true" } },
  }),
  stats: () => ({
    task: "read",
    summary: "Counts what the session has done and used, by model and tool.",
    answers: { 200: stats() },
    example: {},
  }),
  commands: () => ({
    task: "read",
    summary: "Lists the slash commands of the session, and its skills.",
    answers: {
      200: z.object({
        v: one(),
        sessionId: text(),
        availableCommands: z.array(command()),
        availableSkills: names(),
      }),
    },
    example: {},
  }),
} satisfies Descriptions;

export const ABOUT_TRANSCRIPTS = {
  events: () => ({
    task: "follow",
    summary: "Streams the session's events after the client's last one, without gap or repeat.",
    more: "Without Last-Event-ID it begins with what happens next.",
    headers: ["last-event-id", "x-qwen-event-epoch"],
    answers: { 200: streamOf(envelope()) },
    refusals: ["invalid_max_queued", "subscriber_limit_exceeded"],
    example: { headers: { "last-event-id": "0" } },
  }),
  childEvents: () => ({
    task: "follow",
    summary: "Streams the events of one child, with their numbers in its parent's log.",
    headers: ["last-event-id", "x-qwen-event-epoch"],
    answers: { 200: streamOf(envelope()) },
    refusals: ["invalid_max_queued", "subscriber_limit_exceeded", "child_not_found"],
    example: { headers: { "last-event-id": "0" } },
  }),
  transcript: () => ({
    task: "read",
    summary: "Has finished turns in pages, forward or backward.",
    more: "Its events have no ids. A cursor excludes the other ways to say where a page begins.",
    answers: {
      200: z.object({
        v: one(),
        sessionId: text(),
        events: z.array(envelope()),
        nextCursor: text().optional(),
        hasMore: flag(),
        startTime: maybeTime().optional(),
        lastUpdated: maybeTime().optional(),
        total: count().optional(),
      }),
    },
    refusals: [
      "invalid_transcript_limit",
      "invalid_transcript_cursor",
      "transcript_snapshot_unavailable",
      "transcript_page_too_large",
    ],
    example: { query: { limit: "20" } },
  }),
  export: () => ({
    task: "read",
    summary: "Exports the session as a file.",
    answers: {
      200: fileOf("text/html", "text/markdown", "application/json", "application/x-ndjson"),
    },
    refusals: ["invalid_export_format", "file_limit_exceeded"],
    example: { query: { format: "md" } },
  }),
} satisfies Descriptions;
