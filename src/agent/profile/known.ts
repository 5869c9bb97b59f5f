import { fileURLToPath } from "node:url";
import { type AgentProfile, profileOf } from "./profile.ts";

/** What each maker of models reads. Keys are passed on if they are set, and never kept. */
const OPENAI = ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"];
const ANTHROPIC = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"];
const GOOGLE = ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"];
const GOOGLE_CLOUD = [
  "GOOGLE_CLOUD_PROJECT",
  "GOOGLE_CLOUD_LOCATION",
  "GOOGLE_GENAI_USE_VERTEXAI",
  "GOOGLE_APPLICATION_CREDENTIALS",
];
const OTHERS = ["OPENROUTER_API_KEY", "GROQ_API_KEY", "OLLAMA_HOST"];

/** Agents that need no configuration: commands as their makers document and we have tried them. */
export const KNOWN_PROFILES: readonly AgentProfile[] = [
  profileOf({
    name: "qwen",
    title: "Qwen Code",
    command: "qwen",
    args: ["--acp"],
    inherit: [...OPENAI, "DASHSCOPE_API_KEY", "QWEN_HOME"],
    install: "npm install -g @qwen-code/qwen-code",
  }),
  profileOf({
    name: "gemini",
    title: "Gemini CLI",
    command: "gemini",
    args: ["--acp"],
    inherit: [...GOOGLE, ...GOOGLE_CLOUD, "GEMINI_MODEL"],
    auth: "gemini-api-key",
    install: "npm install -g @google/gemini-cli",
  }),
  profileOf({
    name: "opencode",
    title: "opencode",
    command: "opencode",
    args: ["acp"],
    inherit: [...OPENAI, ...ANTHROPIC, ...GOOGLE, ...OTHERS, "OPENCODE_CONFIG"],
    install: "npm install -g opencode-ai",
  }),
  profileOf({
    name: "codex",
    title: "Codex",
    command: "codex-acp",
    inherit: [...OPENAI, "CODEX_API_KEY", "CODEX_HOME"],
    install: "npm install -g @agentclientprotocol/codex-acp",
  }),
  profileOf({
    name: "claude",
    title: "Claude Code",
    command: "claude-agent-acp",
    inherit: [
      ...ANTHROPIC,
      "ANTHROPIC_MODEL",
      "CLAUDE_CODE_OAUTH_TOKEN",
      "CLAUDE_CONFIG_DIR",
      "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    ],
    install: "npm install -g @agentclientprotocol/claude-agent-acp; it does not run as root",
  }),
  profileOf({
    name: "goose",
    title: "goose",
    command: "goose",
    args: ["acp"],
    inherit: [...OPENAI, ...ANTHROPIC, ...GOOGLE, ...OTHERS, "GOOSE_PROVIDER", "GOOSE_MODEL"],
    install: "see https://block.github.io/goose; then run: goose configure",
  }),
  profileOf({
    name: "echo",
    title: "Echo, an agent for trying things out",
    command: process.execPath,
    args: [fileURLToPath(builtin("echo", import.meta.url))],
  }),
];

/** All profiles by name. Who configures one of a known name means to replace it. */
export function withOwnProfiles(
  own: ReadonlyMap<string, AgentProfile>,
): ReadonlyMap<string, AgentProfile> {
  return new Map([...KNOWN_PROFILES.map((known) => [known.name, known] as const), ...own]);
}

/** Development runs the sources as they are, the package its compiled copy. */
function builtin(name: string, beside: string): URL {
  return new URL(`../builtin/${name}/main${beside.endsWith(".ts") ? ".ts" : ".js"}`, beside);
}
