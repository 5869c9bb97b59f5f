import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isObject, type JsonObject, objectAt, stringAt } from "../../core/json.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Clock } from "../../platform/clock.ts";
import { parseJson } from "../../wire/operator-json.ts";
import type { ExtensionScope } from "../catalog.ts";
import type { SessionFacts } from "../contract.ts";
import { readCode } from "../discovery/code.ts";
import { moduleOf } from "../discovery/discovery.ts";
import {
  type ExtensionRules,
  type KnownExtension,
  knownExtensions,
} from "../discovery/known-extensions.ts";
import { type ExtensionManifest, readExtensionManifest } from "../manifest.ts";
import type { ThreadSource } from "../thread/threads.ts";
import type { FoundWorkflow, WorkflowHost, WorkflowListing, WorkflowRun } from "./contract.ts";
import { readModulePlan } from "./module-plan.ts";
import { loadedIn, ModuleRun, stagesIn } from "./module-run.ts";

export interface ModuleWorkflowsOptions {
  readonly rules: ExtensionRules;
  readonly threads: ThreadSource;
  readonly clock: Pick<Clock, "after">;
  redact(text: string): string;
}

/** What is stored of a module, to open it again. */
interface StoredModule {
  readonly id: string;
  readonly hash: string;
  readonly config: JsonObject;
  readonly plan: JsonObject;
}

/** The workflows that are extensions of the kind `workflow`: found, trusted and copied as those. */
export class ModuleWorkflows {
  readonly #options: ModuleWorkflowsOptions;

  constructor(options: ModuleWorkflowsOptions) {
    this.#options = options;
  }

  async list(workspace: string | null): Promise<readonly WorkflowListing[]> {
    return (await this.#known(workspace)).map(({ id, manifest, source, why }) => {
      const description = manifest?.description ?? "";
      return { name: id, description, source: source ?? "home", why };
    });
  }

  /** Null if there is none of this name. Its module is run to learn its stages. */
  async find(
    { tenantId, workspaceCwd }: ExtensionScope,
    workspace: string | null,
    name: string,
  ): Promise<Result<FoundWorkflow> | null> {
    const known = await this.#known(workspace);
    const one = known.find(({ id }) => id === name);
    if (one === undefined) return null;
    const { found, config, why } = one;
    if (found === null) return why === null ? gone(name) : { ok: false, refusal: why };
    const module = await moduleOf(found, this.#options.rules.copies);
    if (!module.ok) return module;
    const { manifest, hash } = found;
    const session = { sessionId: "none", workspaceCwd, isResumed: false };
    const host = { tenantId, session, log: () => {} };
    const plan = await this.#planOf(manifest, module.value, config, host);
    if (!plan.ok) return plan;
    const stored = { kind: "module", id: name, hash, config, plan: plan.value.said };
    return ok({ plan: plan.value.plan, hash, text: JSON.stringify(stored) });
  }

  /** The version that it began with, if its copy is there and its operator trusts it still. */
  async open(text: string, host: WorkflowHost): Promise<Result<WorkflowRun> | null> {
    const stored = readStored(text);
    if (stored === null) return null;
    const { id, hash, config } = stored;
    const { rules } = this.#options;
    const trusted = await rules.trust.read();
    if (!trusted.ok) return trusted;
    const folder = join(rules.copies, hash);
    if (!trusted.value.some((one) => one.hash === hash)) {
      return fail("workflow_untrusted", { workflow: id, file: folder, hash });
    }
    const { code } = await readCode(folder);
    const bytes = code?.hash === hash ? code.files.get("extension.json") : undefined;
    if (bytes === undefined) return gone(id);
    const read = readExtensionManifest(
      parseJson(new TextDecoder().decode(bytes)).value,
      rules.coreVersion,
    );
    if (!read.ok) return read;
    const manifest = read.value;
    const plan = readModulePlan(manifest, stored.plan);
    if (!plan.ok) return plan;
    const module = pathToFileURL(join(folder, manifest.main)).href;
    return ok(new ModuleRun(plan.value, host, () => this.#start(manifest, module, config, host)));
  }

  async #known(workspace: string | null): Promise<readonly KnownExtension[]> {
    const all = await knownExtensions(this.#options.rules, workspace);
    return all.filter(({ manifest, isEnabled }) => manifest?.kind === "workflow" && isEnabled);
  }

  async #planOf(manifest: ExtensionManifest, module: string, config: JsonObject, host: StartedFor) {
    const { id: workflow } = manifest;
    const started = this.#start(manifest, module, config, host);
    if (!started.ok) return started;
    const failed = await loadedIn(started.value);
    const said = failed ?? (await stagesIn(started.value));
    started.value.end("its stages are known");
    if (typeof said === "string") {
      const reason = this.#options.redact(said).slice(0, 512).toWellFormed();
      return fail("workflow_failed", { workflow, phase: "make", reason });
    }
    const plan = readModulePlan(manifest, said);
    return plan.ok ? ok({ plan: plan.value, said }) : plan;
  }

  #start(manifest: ExtensionManifest, module: string, config: JsonObject, host: StartedFor) {
    const { threads, clock, redact } = this.#options;
    const { id } = manifest;
    const start = {
      ...{ module, id, config: JSON.stringify(config), slot: null, stateSlot: null, hooks: [] },
      session: host.session,
    };
    return threads.startFor(host.tenantId)(start, {
      clock,
      ended: () => {},
      noted: ({ text }) => host.log(redact(text)),
    });
  }
}

interface StartedFor extends Pick<WorkflowHost, "tenantId" | "log"> {
  readonly session: SessionFacts;
}

function gone(workflow: string): Result<never> {
  return fail("workflow_missing", { workflow, reason: "its code is not kept any more" });
}

function readStored(text: string): StoredModule | null {
  try {
    const read: unknown = JSON.parse(text);
    if (!isObject(read) || read.kind !== "module") return null;
    const [id, hash] = [stringAt(read, "id"), stringAt(read, "hash")];
    const [config, plan] = [objectAt(read, "config"), objectAt(read, "plan")];
    const isHash = hash !== null && /^[0-9a-f]{64}$/.test(hash);
    return id !== null && isHash && config && plan ? { id, hash, config, plan } : null;
  } catch {
    return null;
  }
}
