import { fileURLToPath } from "node:url";
import { type AgentProfile, askSetup, profileOf } from "./profile.ts";

/** The variables of each model provider. Agents get them if they are set; they are never stored. */
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

/**
 * For opencode and its forks. These rules apply last, and each replaces the one of the same name:
 * so settings in a workspace cannot switch the asking off. Tools of MCP servers have names with an
 * underscore.
 */
const ASK_RULES = JSON.stringify({
  bash: "ask",
  edit: "ask",
  webfetch: "ask",
  websearch: "ask",
  "*_*": "ask",
});

/** Two programs have the name `codex-acp`; a method is used only where the agent offers it. */
const CODEX = {
  command: "codex-acp",
  inherit: [...OPENAI, "CODEX_API_KEY", "CODEX_HOME", "CODEX_PATH", "CODEX_CONFIG"],
  auth: [
    { method: "api-key", ifSet: ["OPENAI_API_KEY", "CODEX_API_KEY"] },
    { method: "codex-api-key", ifSet: ["CODEX_API_KEY"] },
    { method: "openai-api-key", ifSet: ["OPENAI_API_KEY"] },
  ],
  ask: askSetup({
    mode: "read-only",
    unasked: "commands in its own sandbox, which can read, and neither write nor reach the network",
  }),
  home: "CODEX_HOME",
  signIn: "Set OPENAI_API_KEY or CODEX_API_KEY for the server, or run: codex login",
};

/**
 * What Claude Code calls its models before it says which one it uses. `default` depends on the
 * account; the turn is paid by the model that the agent names at its end.
 */
const CLAUDE_MODELS = {
  default: "claude-opus-5-5",
  opus: "claude-opus-5-5",
  opusplan: "claude-opus-5-5",
  sonnet: "claude-sonnet-5-5",
  haiku: "claude-haiku-5-5",
  fable: "claude-fable-5-1",
};

/** Agents that need no configuration: documented commands that were tried with this server. */
export const KNOWN_PROFILES: readonly AgentProfile[] = [
  profileOf({
    name: "qwen",
    title: "Qwen Code",
    command: "qwen",
    args: ["--acp"],
    inherit: [...OPENAI, "DASHSCOPE_API_KEY", "QWEN_HOME"],
    ask: askSetup({ mode: "default", unasked: "commands that it takes to only read" }),
    mcp: "deferred",
    writes: "server",
    home: "QWEN_HOME",
    usage: "call",
    install: "npm install -g @qwen-code/qwen-code",
    signIn: "Set OPENAI_API_KEY for the server, or run qwen once and sign in there",
  }),
  profileOf({
    name: "gemini",
    title: "Gemini CLI",
    command: "gemini",
    args: ["--acp"],
    inherit: [...GOOGLE, ...GOOGLE_CLOUD, "GEMINI_MODEL", "GEMINI_CLI_HOME"],
    auth: [
      { method: "gemini-api-key", ifSet: ["GEMINI_API_KEY"] },
      { method: "vertex-ai", ifSet: ["GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"] },
    ],
    ask: askSetup({ mode: "default", unasked: "commands that it takes to only read" }),
    // It takes "no such file" for a failure, and then creates no new file.
    withhold: ["fs.read"],
    mcp: "offered",
    writes: "server",
    home: "GEMINI_CLI_HOME",
    models: { "*": { from: "GEMINI_MODEL" } },
    install: "npm install -g @google/gemini-cli",
    signIn:
      "Set GEMINI_API_KEY (or GOOGLE_API_KEY, for Vertex AI) for the server, or run gemini once " +
      "and sign in there",
  }),
  profileOf({
    name: "opencode",
    title: "opencode",
    command: "opencode",
    args: ["acp"],
    inherit: [
      ...[...OPENAI, ...ANTHROPIC, ...GOOGLE, ...OTHERS],
      ...["OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG_CONTENT"],
      ...["OPENCODE_PERMISSION", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_AUTOUPDATE"],
    ],
    ask: askSetup({ env: { OPENCODE_PERMISSION: ASK_RULES } }),
    mcp: "offered",
    writes: "server",
    home: "HOME",
    usage: "cost",
    install: "npm install -g opencode-ai",
    signIn: "Set the key of your provider for the server, or run: opencode auth login",
  }),
  profileOf({
    name: "codex",
    title: "Codex",
    ...CODEX,
    // Without a key a person may sign in, on a page that shows a code.
    auth: [...CODEX.auth, { method: "chat-gpt-device-code", ifSet: [] }],
    signIn:
      "Set OPENAI_API_KEY or CODEX_API_KEY for the server, or run: fermata agents codex --sign-in",
    mcp: "deferred",
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
      "CLAUDE_CODE_EXECUTABLE",
      "CLAUDE_CODE_USE_BEDROCK",
      "CLAUDE_CODE_USE_VERTEX",
    ],
    ask: askSetup({
      mode: "default",
      unasked: "commands that it takes to only read, and what settings files of Claude allow",
    }),
    mcp: "deferred",
    home: "CLAUDE_CONFIG_DIR",
    models: CLAUDE_MODELS,
    install: "npm install -g @agentclientprotocol/claude-agent-acp",
    signIn: "Set ANTHROPIC_API_KEY for the server, or run: fermata agents claude --sign-in",
  }),
  profileOf({
    name: "goose",
    title: "goose",
    command: "goose",
    args: ["acp"],
    inherit: [
      ...[...OPENAI, "OPENAI_HOST", ...ANTHROPIC, ...GOOGLE, ...OTHERS],
      ...["GOOSE_PROVIDER", "GOOSE_MODEL", "GOOSE_MODE", "GOOSE_PATH_ROOT"],
    ],
    ask: askSetup({ env: { GOOSE_MODE: "approve" }, mode: "approve" }),
    mcp: "offered",
    writes: "server",
    home: "GOOSE_PATH_ROOT",
    usage: "call",
    install: "npm install -g @aaif/goose",
    signIn: "Run: goose configure",
  }),
  profileOf({
    name: "kilo",
    title: "Kilo Code",
    command: "kilo",
    args: ["acp"],
    inherit: [
      ...[...OPENAI, ...ANTHROPIC, ...GOOGLE, ...OTHERS, "KILO_API_KEY", "KILO_ORG_ID"],
      ...["KILO_CONFIG", "KILO_CONFIG_DIR", "KILO_CONFIG_CONTENT", "KILO_PERMISSION"],
      ...["KILO_DISABLE_MODELS_FETCH", "KILO_DISABLE_AUTOUPDATE", "KILO_DISABLE_LSP_DOWNLOAD"],
    ],
    ask: askSetup({ env: { KILO_PERMISSION: ASK_RULES } }),
    mcp: "offered",
    writes: "server",
    home: "HOME",
    usage: "cost",
    install: "npm install -g @kilocode/cli",
    signIn: "Set KILO_API_KEY for the server, or run: kilo auth login",
  }),
  profileOf({
    name: "kimi",
    title: "Kimi Code",
    command: "kimi",
    args: ["acp"],
    inherit: [
      ...["KIMI_API_KEY", "KIMI_BASE_URL", "KIMI_CODE_HOME", "KIMI_MODEL_NAME"],
      ...["KIMI_MODEL_API_KEY", "KIMI_MODEL_BASE_URL", "KIMI_MODEL_PROVIDER_TYPE"],
      ...["KIMI_MODEL_CAPABILITIES", "MOONSHOT_API_KEY", "KIMI_CODE_NO_AUTO_UPDATE"],
    ],
    ask: askSetup({ mode: "default" }),
    mcp: "offered",
    writes: "server",
    home: "KIMI_CODE_HOME",
    models: { __kimi_env_model__: { from: "KIMI_MODEL_NAME" } },
    install: "npm install -g @moonshot-ai/kimi-code",
    signIn: "Run: kimi login",
  }),
  profileOf({
    name: "copilot",
    title: "GitHub Copilot CLI",
    command: "copilot",
    args: ["--acp"],
    inherit: [
      ...["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GH_HOST", "COPILOT_GH_HOST"],
      ...["COPILOT_HOME", "COPILOT_MODEL", "COPILOT_OFFLINE", "COPILOT_AUTO_UPDATE"],
      ...["COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_TYPE", "COPILOT_PROVIDER_API_KEY"],
      ...["COPILOT_PROVIDER_WIRE_API", "COPILOT_PROVIDER_MODEL_ID"],
    ],
    ask: askSetup({ mode: "https://agentclientprotocol.com/protocol/session-modes#agent" }),
    mcp: "withheld",
    home: "COPILOT_HOME",
    usage: "session",
    models: { "*": { from: "COPILOT_MODEL" } },
    install: "npm install -g @github/copilot",
    signIn: "Set COPILOT_GITHUB_TOKEN for the server, or run: copilot login",
  }),
  profileOf({
    name: "grok",
    title: "Grok",
    command: "grok",
    args: ["agent", "stdio"],
    inherit: [
      "XAI_API_KEY",
      "XAI_API_BASE_URL",
      "GROK_XAI_API_BASE_URL",
      "GROK_HOME",
      "GROK_DISABLE_AUTOUPDATER",
    ],
    auth: [{ method: "xai.api_key", ifSet: ["XAI_API_KEY"] }],
    ask: askSetup({
      unasked:
        "a list of commands that only read, such as ls, cat and git status, and web searches",
    }),
    home: "GROK_HOME",
    mcp: "deferred",
    writes: "server",
    install: "npm install -g @xai-official/grok",
    signIn: "Set XAI_API_KEY for the server, or run: grok login",
  }),
  profileOf({
    name: "codex-zed",
    title: "Codex, as Zed connects it",
    ...CODEX,
    mcp: "offered",
    install: "npm install -g @zed-industries/codex-acp",
  }),
  profileOf({
    name: "echo",
    title: "Echo, an agent for trying things out",
    command: process.execPath,
    args: [fileURLToPath(builtin("echo", import.meta.url))],
    ask: askSetup(),
  }),
];

/** All profiles by name. A configured profile replaces the known one of its name. */
export function withOwnProfiles(
  own: ReadonlyMap<string, AgentProfile>,
): ReadonlyMap<string, AgentProfile> {
  return new Map([...KNOWN_PROFILES.map((known) => [known.name, known] as const), ...own]);
}

/** Development runs the sources, the package its compiled copy. */
function builtin(name: string, beside: string): URL {
  return new URL(`../builtin/${name}/main${beside.endsWith(".ts") ? ".ts" : ".js"}`, beside);
}
