// The public agents of the contract, as data: what is installed, how each is told of the loopback
// model, and what is known not to work with it.

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { AgentPackage } from "./packages.ts";

/** Where the model is, and the key that it wants. */
interface Surroundings {
  readonly modelUrl: string;
  /** Null to try it without one. */
  readonly key: string | null;
}

export interface AgentRow {
  /** Of its profile. */
  readonly name: string;
  readonly package: AgentPackage;
  /** The server's environment. A variable without a value is not set. */
  readonly env: (around: Surroundings) => Readonly<Record<string, string | null>>;
  /** Files of its user, by their path in the home directory. */
  readonly home?: (around: Surroundings) => Readonly<Record<string, string>>;
  /** Until then it cannot load a session that it had before. */
  readonly beforeLoad?: () => Promise<void>;
  /** Where it does not tell what was used: nowhere in a turn, or in turns of several calls. */
  readonly untold?: readonly ("calls" | "turns")[];
  /** Checks that are known not to hold, each with the reason. They are tried all the same. */
  readonly limits: Readonly<Record<string, string>>;
  /** Checks that make no sense with it, each with the reason. They are not tried. */
  readonly without: Readonly<Record<string, string>>;
}

const MODEL = "mock-model";
const OTHER_MODEL = "mock-model-2";

export const ROSTER: readonly AgentRow[] = [
  {
    name: "qwen",
    package: { name: "@qwen-code/qwen-code", version: "0.24.4" },
    env: ({ modelUrl, key }) => ({
      OPENAI_API_KEY: key,
      OPENAI_BASE_URL: `${modelUrl}/v1`,
      OPENAI_MODEL: MODEL,
    }),
    home: qwenSettings,
    limits: {},
    without: {},
  },
  {
    name: "gemini",
    package: { name: "@google/gemini-cli", version: "0.61.0" },
    env: ({ modelUrl, key }) => ({
      GEMINI_API_KEY: key,
      GOOGLE_GEMINI_BASE_URL: modelUrl,
      GEMINI_MODEL: "gemini-2.5-pro",
    }),
    // In a folder that its user does not trust it starts no MCP servers. Asks are the same.
    home: () => ({ ".gemini/settings.json": '{"security":{"folderTrust":{"enabled":false}}}' }),
    beforeLoad: nextMinute,
    limits: {
      key: "it tells a command by its title alone, which is no key: it can be allowed once only",
      output: "the agent does not tell what its commands print",
    },
    without: {},
  },
  {
    name: "opencode",
    package: { name: "opencode-ai", version: "1.18.33" },
    env: ({ key }) => ({ OPENAI_API_KEY: key }),
    home: (around) => ({ ".config/opencode/opencode.json": opencodeConfig(around) }),
    limits: {},
    without: {},
  },
  {
    name: "codex",
    package: { name: "@agentclientprotocol/codex-acp", version: "2.6.0" },
    env: ({ key }) => ({ OPENAI_API_KEY: key }),
    home: (around) => ({ ".codex/config.toml": codexConfig(around) }),
    limits: {},
    without: {},
  },
  {
    name: "claude",
    package: { name: "@agentclientprotocol/claude-agent-acp", version: "0.99.1" },
    env: ({ modelUrl, key }) => ({
      ANTHROPIC_API_KEY: key,
      ANTHROPIC_BASE_URL: modelUrl,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    }),
    limits: {
      "wrong-key": "the agent tries again for minutes, and says nothing meanwhile",
    },
    without: {},
  },
  {
    name: "goose",
    package: { name: "@aaif/goose", version: "0.20.1" },
    env: ({ key }) => ({
      OPENAI_API_KEY: key,
      GOOSE_PROVIDER: "openai",
      GOOSE_MODEL: MODEL,
    }),
    home: ({ modelUrl }) => ({
      ".config/goose/config.yaml": `OPENAI_HOST: ${modelUrl}\nGOOSE_DISABLE_KEYRING: true\n`,
    }),
    untold: ["calls"],
    limits: {},
    without: {},
  },
  {
    name: "kilo",
    package: { name: "@kilocode/cli", version: "7.7.7" },
    env: ({ key }) => ({
      OPENAI_API_KEY: key,
      KILO_DISABLE_AUTOUPDATE: "1",
      KILO_DISABLE_MODELS_FETCH: "1",
      KILO_DISABLE_LSP_DOWNLOAD: "1",
    }),
    home: (around) => ({ ".config/kilo/kilo.json": opencodeConfig(around) }),
    limits: {},
    without: {},
  },
  {
    name: "kimi",
    package: { name: "@moonshot-ai/kimi-code", version: "2.1.0" },
    env: ({ modelUrl, key }) => ({
      KIMI_MODEL_API_KEY: key,
      KIMI_MODEL_BASE_URL: `${modelUrl}/v1`,
      KIMI_MODEL_NAME: MODEL,
      KIMI_MODEL_PROVIDER_TYPE: "openai",
      KIMI_MODEL_CAPABILITIES: "image_in,tool_use",
      KIMI_CODE_NO_AUTO_UPDATE: "1",
    }),
    untold: ["calls", "turns"],
    limits: { model: "it has the one model that its environment names" },
    without: {},
  },
  {
    name: "copilot",
    package: { name: "@github/copilot", version: "1.0.102" },
    env: ({ modelUrl, key }) => ({
      COPILOT_PROVIDER_BASE_URL: `${modelUrl}/v1`,
      COPILOT_PROVIDER_API_KEY: key,
      COPILOT_MODEL: MODEL,
      COPILOT_AUTO_UPDATE: "false",
    }),
    limits: {
      embedded: "the agent takes embedded files, and does not give them to its model",
      model: "with a provider of one's own it lists no models",
      mcp: "it starts no MCP servers that it is given (seen without a GitHub account)",
    },
    without: {},
  },
  {
    name: "grok",
    package: { name: "@xai-official/grok", version: "1.0.41" },
    env: ({ modelUrl, key }) => ({ XAI_API_KEY: key, GROK_XAI_API_BASE_URL: `${modelUrl}/v1` }),
    limits: {
      image: "the agent takes no images",
      mode: "the agent has no modes",
    },
    without: {},
  },
  {
    name: "codex-zed",
    package: { name: "@zed-industries/codex-acp", version: "0.16.0" },
    env: ({ key }) => ({ OPENAI_API_KEY: key }),
    home: (around) => ({ ".codex/config.toml": codexConfig(around) }),
    untold: ["calls", "turns"],
    limits: onPath("bwrap")
      ? {}
      : { "ask-edit": "its sandbox needs `bwrap`, without which it changes no file that is there" },
    // It tells no tokens either, so nothing shows its work.
    without: onPath("bwrap")
      ? {}
      : { "usage-budget": "its sandbox needs `bwrap`, without which it shows few of its commands" },
  },
];

/** Two agents of different vendors, of which the first delegates to the other. */
export interface PairRow {
  readonly parent: string;
  readonly child: string;
  /** Checks that are known not to hold, each with the reason. They are tried all the same. */
  readonly limits: Readonly<Record<string, string>>;
}

export const PAIRS: readonly PairRow[] = [
  { parent: "qwen", child: "opencode", limits: {} },
  { parent: "opencode", child: "qwen", limits: {} },
  { parent: "gemini", child: "codex", limits: {} },
  { parent: "codex", child: "gemini", limits: {} },
];

const MINUTE_MS = 60_000;

/**
 * Gemini names the file of a session by the minute. What it loads in the minute in which it was
 * begun it overwrites first, and then finds no session.
 */
async function nextMinute(): Promise<void> {
  await pause(MINUTE_MS - (Date.now() % MINUTE_MS));
}

function onPath(program: string): boolean {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.some((folder) => existsSync(join(folder, program)));
}

/** Two models, which take pictures. */
function qwenSettings({ modelUrl }: Surroundings): Readonly<Record<string, string>> {
  const openai = [MODEL, OTHER_MODEL].map((id) => ({
    id,
    name: id,
    envKey: "OPENAI_API_KEY",
    baseUrl: `${modelUrl}/v1`,
    generationConfig: { modalities: { image: true } },
  }));
  return { ".qwen/settings.json": JSON.stringify({ modelProviders: { openai } }) };
}

/** For opencode and what was made of it. It says nothing of permissions: they are its own. */
function opencodeConfig({ modelUrl }: Surroundings): string {
  const modalities = { input: ["text", "image"], output: ["text"] };
  const limit = { context: 200_000, output: 8_000 };
  // In dollars per million tokens. What it adds up to is the only figure of a turn as a whole.
  const cost = { input: 1, output: 1, cache_read: 1, cache_write: 1 };
  const model = { attachment: true, modalities, limit, cost };
  return JSON.stringify({
    autoupdate: false,
    model: `mock/${MODEL}`,
    small_model: `mock/${MODEL}`,
    provider: {
      mock: {
        npm: "@ai-sdk/openai-compatible",
        name: "Mock",
        options: { baseURL: `${modelUrl}/v1`, apiKey: "{env:OPENAI_API_KEY}" },
        models: {
          [MODEL]: { name: MODEL, ...model },
          [OTHER_MODEL]: { name: OTHER_MODEL, ...model },
        },
      },
    },
  });
}

/**
 * It says nothing of approvals or sandboxes: they are the agent's own. Codex gives its tools only
 * to models that it knows.
 */
function codexConfig({ modelUrl }: Surroundings): string {
  return [
    'model = "gpt-5.5"',
    'model_provider = "mock"',
    "[model_providers.mock]",
    'name = "Mock"',
    `base_url = "${modelUrl}/v1"`,
    'wire_api = "responses"',
    'env_key = "OPENAI_API_KEY"',
    "",
  ].join("\n");
}
