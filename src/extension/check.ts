import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Refusal, sentenceOf } from "../core/error.ts";
import type { JsonObject } from "../core/json.ts";
import { ok } from "../core/result.ts";
import { EVENT_TYPES, isEventType } from "../core/session/event-table.ts";
import { nearestName } from "../core/spelling.ts";
import { parseJson } from "../wire/operator-json.ts";
import { copyCode, type ExtensionCode, readCode } from "./discovery/code.ts";
import { type FoundExtension, lookAt } from "./discovery/discovery.ts";
import type { HookName } from "./hook.ts";
import { type ExtensionManifest, manifestFaults } from "./manifest.ts";
import type { StoredSlot } from "./slot.ts";
import { PlayedSession } from "./testing.ts";
import { ExtensionThread } from "./thread/thread.ts";
import type { StartThread } from "./thread/threads.ts";

/** What is wrong with an extension, for its author. */
export interface CheckFault {
  /** In the folder; empty is the folder itself. */
  readonly file: string;
  /** The field or function that is meant; empty is the whole file. */
  readonly field: string;
  readonly reason: string;
  /** What to do about it. */
  readonly remedy: string;
}

export interface ExtensionCheck {
  readonly id: string | null;
  readonly version: string | null;
  readonly faults: readonly CheckFault[];
  /** What it said meanwhile, and what an author may want to know. */
  readonly notices: readonly string[];
}

export interface CheckOptions {
  /** Where it would run: what it imports of packages is looked for from there. */
  readonly home: string;
  readonly coreVersion: string;
  readonly config: JsonObject;
  /** An older slot, which it has to bring to its own version. */
  readonly slot: StoredSlot | null;
}

const MANIFEST = "extension.json";

/**
 * Looks at an extension as a server would, and then runs it: in a thread, from a copy of its files,
 * in a session of its own with an empty workspace.
 */
export async function checkExtension(
  folder: string,
  options: CheckOptions,
): Promise<ExtensionCheck> {
  const { code, fault } = await readCode(folder);
  const none = { id: null, version: null, notices: [] };
  if (code === undefined) return { ...none, faults: [{ ...WHOLE, reason: fault, ...OUT }] };
  const faults = faultsInManifest(code, options.coreVersion);
  if (faults.length > 0) return { ...none, faults };
  const found = await lookAt(folder, options.coreVersion);
  if ("why" in found) return { ...none, faults: [faultIn(found.why, MANIFEST)] };
  const { id, version } = found.manifest;
  return { id, version, ...(await tried(found, code, options)) };
}

const WHOLE = { file: "", field: "" };
const OUT = { remedy: "mend that file, or take it out of the folder" };

function faultsInManifest({ files }: ExtensionCode, coreVersion: string): readonly CheckFault[] {
  const bytes = files.get(MANIFEST);
  const wrong = (field: string, reason: string, remedy: string) => {
    return [{ file: MANIFEST, field, reason, remedy }];
  };
  if (bytes === undefined) {
    return wrong("", "there is no such file", "write one, or begin with: fermata extensions new");
  }
  const { value, fault } = parseJson(new TextDecoder().decode(bytes));
  if (fault !== undefined) return wrong("", fault, "correct the text there");
  return manifestFaults(value, coreVersion).flatMap(({ path, reason }) => {
    return wrong(path, reason, remedyFor(reason));
  });
}

/** Most reasons say what the field has to be. */
function remedyFor(reason: string): string {
  if (reason.startsWith("there is no such")) return "correct its name, or take it out";
  if (reason.startsWith("it is missing")) return "add it";
  return 'correct it; docs/extensions.md, "The manifest", has what it may be';
}

/** A refusal as the fault of a file. */
function faultIn({ code, details }: Refusal, main: string): CheckFault {
  const { path, reason, step } = details;
  const said = typeof reason === "string" ? reason : sentenceOf({ code, details });
  const field = String(step ?? path ?? "");
  if (code === "invalid_extension") {
    return { file: MANIFEST, field, reason: said, remedy: remedyFor(said) };
  }
  if (code === "invalid_extension_config") {
    const remedy = "give it a configuration of its schema with --config, or correct configSchema";
    return { file: MANIFEST, field: `configSchema: ${field}`, reason: said, remedy };
  }
  if (code.startsWith("slot_")) {
    return { file: main, field: "migrate", reason: sentenceOf({ code, details }), remedy: MIGRATE };
  }
  const remedy = REMEDIES[field] ?? IN_HOOK;
  const isEarly = field === "make" || field === "init";
  return { file: main, field, reason: said, remedy: isEarly ? `${remedy}; ${CONFIG}` : remedy };
}

const MIGRATE = "have it answer a slot of stateSlot.slotVersion that stateSlot.schema takes";
const IN_HOOK = "correct this function: what fails in a session is ended there";
const CONFIG = "if it needs another configuration, name that with --config";
const REMEDIES: Readonly<Record<string, string>> = {
  make: "have the module load, and its default export answer with the hooks of the manifest",
  init: "correct it",
};

async function tried({ manifest }: FoundExtension, code: ExtensionCode, options: CheckOptions) {
  const name = "extensions-check-";
  const below = await mkdtemp(join(options.home, name)).catch(() => mkdtemp(join(tmpdir(), name)));
  try {
    const module = pathToFileURL(join(await copyCode(code, below), manifest.main)).href;
    const workspaceCwd = await mkdtemp(join(below, ".workspace-"));
    const trial = new Trial(manifest, module, { ...options, workspaceCwd });
    await trial.run();
    return { faults: trial.faults, notices: trial.notices };
  } finally {
    await rm(below, { recursive: true, force: true });
  }
}

/** One extension that is tried; what fails once is begun anew for the next thing to try. */
class Trial {
  readonly faults: CheckFault[] = [];
  readonly notices: string[] = [];
  readonly #manifest: ExtensionManifest;
  readonly #module: string;
  readonly #options: CheckOptions & { readonly workspaceCwd: string };

  constructor(
    manifest: ExtensionManifest,
    module: string,
    options: CheckOptions & { readonly workspaceCwd: string },
  ) {
    this.#manifest = manifest;
    this.#module = module;
    this.#options = options;
  }

  async run() {
    this.#lookAtEvents();
    const isUp = await this.#play(null, async () => {});
    if (!isUp) return;
    for (const hook of this.#manifest.hooks) await this.#play(hook, (one) => one.hook(hook, FACTS));
    const { slot } = this.#options;
    if (slot !== null) await this.#play(null, async () => {}, slot);
    else if (this.#manifest.stateSlot?.driftPolicy === "migrate") this.notices.push(UNTRIED);
  }

  /** Brings it up, has it do something, and takes it down; false if it did not come up. */
  async #play(
    hook: HookName | null,
    act: (session: PlayedSession) => Promise<unknown>,
    slot: StoredSlot | null = null,
  ): Promise<boolean> {
    const { config, workspaceCwd } = this.#options;
    const { main } = this.#manifest;
    const about = { config, workspaceCwd, slot };
    const opened = await PlayedSession.open(this.#manifest, this.#module, about, asInServer);
    if (!opened.ok) {
      this.faults.push(faultIn(opened.refusal, main));
      return false;
    }
    const session = opened.value;
    const failed = (field: string, remedy: string) => (thrown: unknown) => {
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      this.faults.push({ file: main, field, reason, remedy });
    };
    await act(session).catch(failed(`hooks.${hook}`, IN_HOOK));
    await session.end().catch(failed("deactivate, dispose", "correct it: each session ends so"));
    for (const line of session.logged) {
      if (!this.notices.includes(`it says: ${line}`)) this.notices.push(`it says: ${line}`);
    }
    return true;
  }

  /** Agents have events of their own, so one that is not known is no fault. */
  #lookAtEvents() {
    for (const name of this.#manifest.events) {
      const near = isEventType(name) ? null : nearestName(name, EVENT_TYPES);
      if (near === null) continue;
      this.notices.push(`${MANIFEST}: events: "${name}" is no event of Fermata; "${near}" is`);
    }
  }
}

/** What it prints is dropped. */
const asInServer: StartThread = (start, options) => ok(new ExtensionThread(start, options));

const UNTRIED = "its migration was not tried: name a file with an older slot by --slot";

/** A call, a turn and an ask in one, as a hook may be asked about. */
const FACTS = {
  ...{ turnId: "turn", promptId: "prompt", text: "Hello", outcome: "completed" },
  ...{ toolCallId: "call", title: "Edit README.md", kind: "edit", paths: ["README.md"] },
  ...{ rawInput: { path: "README.md" }, status: "completed", answer: "allow_once" },
};
