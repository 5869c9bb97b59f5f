import { z } from "zod";
import { named } from "../../../wire/named-schema.ts";
import type { Descriptions } from "../../openapi/description.ts";
import { AGENT_FAILURES, NEW_SESSION } from "./begin.ts";
import { count, fileOf, flag, maybeText, text } from "./plain-shapes.ts";
import { joinedSession } from "./session-shapes.ts";

const agent = named("Agent", () =>
  z.object({
    name: text(),
    title: text(),
    installed: flag(),
    install: text().optional(),
    default: flag(),
  }),
);

const agentProcess = named("AgentProcess", () =>
  z.object({
    profile: text(),
    process: z.union([z.int(), text()]),
    pid: z.int().nullable(),
    workspace: text(),
    state: z.enum(["starting", "ready", "closing"]),
    sessions: count(),
    memoryBytes: z.int().nullable(),
    runsForMs: z.number(),
  }),
);

const log = () =>
  z.object({
    profile: text(),
    process: z.union([z.int(), text()]),
    pid: z.int().nullable(),
    isRunning: flag(),
    text: text(),
  });

const agentSession = () =>
  z.object({
    agentSessionId: text(),
    title: maybeText(),
    updatedAt: maybeText(),
    cwd: text(),
  });

const OF_AGENT = [...AGENT_FAILURES, "agent_unknown", "agent_unsupported"] as const;

export const ABOUT_AGENTS = {
  list: () => ({
    task: "agents",
    summary: "Lists the agents that a session can be given; to operators also their processes.",
    answers: {
      200: z.object({ agents: z.array(agent()), processes: z.array(agentProcess()).optional() }),
    },
    example: {},
  }),
  trace: () => ({
    task: "agents",
    summary: "Streams every line to and from agents until the reader leaves.",
    answers: { 200: fileOf("application/x-ndjson") },
    refusals: ["trace_limit_exceeded", "file_limit_exceeded"],
    example: {},
  }),
  logs: () => ({
    task: "agents",
    summary: "Has the end of what the processes of an agent wrote to their error output.",
    answers: { 200: z.object({ logs: z.array(log()) }) },
    refusals: ["agent_unknown"],
    example: {},
  }),
  restart: () => ({
    task: "agents",
    summary: "Gives the processes of an agent no further sessions, and ends unused ones.",
    answers: { 200: z.object({ ended: count(), closing: count() }) },
    refusals: ["agent_unknown"],
    example: {},
  }),
  logout: () => ({
    task: "agents",
    summary: "Signs the agent out.",
    answers: { 204: null },
    refusals: OF_AGENT,
    example: {},
  }),
  sessions: () => ({
    task: "agents",
    summary: "Lists the sessions that the agent has made without the server.",
    answers: { 200: z.object({ workspaceCwd: text(), sessions: z.array(agentSession()) }) },
    refusals: [...OF_AGENT, "workspace_mismatch", "untrusted_workspace"],
    example: {},
  }),
  adopt: () => ({
    task: "agents",
    summary: "Makes a session that goes on from one that the agent has made without the server.",
    answers: { 200: joinedSession() },
    refusals: [...NEW_SESSION, ...OF_AGENT, "agent_session_not_found", "agent_session_taken"],
    example: { body: { agentSessionId: "echo-session-1" } },
  }),
} satisfies Descriptions;
